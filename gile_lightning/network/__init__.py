"""Networks without training code: encoders, output layers, matchers, what single labels have."""

from gile_lightning.network.build import Factories, build_networks, prior_log_odds
from gile_lightning.network.encoded_labels import EncodedLabels, LabelBatch
from gile_lightning.network.label_groups import LabelGroups
from gile_lightning.network.label_residual import NOT_SEEN, LabelResidual
from gile_lightning.network.network import Network
from gile_lightning.network.prepared_labels import PreparedLabels, prepare_labels
from gile_lightning.network.ridge import LabelledVectors, Ridge

__all__ = [
    "NOT_SEEN",
    "EncodedLabels",
    "Factories",
    "LabelBatch",
    "LabelGroups",
    "LabelResidual",
    "LabelledVectors",
    "Network",
    "PreparedLabels",
    "Ridge",
    "build_networks",
    "prepare_labels",
    "prior_log_odds",
]
