"""Every part is compared with the CPU: a new one needs a model or a test here. No GPU is needed."""

import inspect

import pytest

from gile_lightning import metrics
from gile_lightning.metrics.table import DOCUMENT_METRICS, NAM16
from gile_lightning.network import encoders, matchers, outputs
from gile_lightning.training import losses, samplers
from gile_testing.models import MODELS, NAME, model, parts_of_a_step
from gile_testing.on_devices import METRICS
from gile_testing.two_languages import DOCUMENTS, ragged

LEFT_OUT = {
    "LSA": "learns word vectors before training, on the host",
    "PPMI": "learns word vectors before training, on the host",
}


def public(room) -> set[str]:
    """Return the classes that a room exports and that compute: no contract, no tuple of results."""
    kinds = (getattr(room, name) for name in room.__all__)
    return {
        kind.__name__
        for kind in kinds
        if inspect.isclass(kind) and not inspect.isabstract(kind) and not issubclass(kind, tuple)
    }


def test_no_part_is_left_out(tmp_path):
    pytest.importorskip("sentence_transformers")
    from gile_testing import pretrained_models as pretrained

    batch = ragged(*DOCUMENTS[NAME][0])
    found = set().union(*(parts_of_a_step(model(parts), batch) for parts in MODELS.values()))
    encoder = pretrained.random_encoder(tmp_path)
    for kind in pretrained.PRETRAINED:
        made = pretrained.pretrained_model(kind, encoder, tmp_path)
        found |= parts_of_a_step(made, pretrained.documents(encoder, 0))
    found |= METRICS.keys() | {type(metric).__name__ for metric in (*DOCUMENT_METRICS, *NAM16)}
    parts = set().union(*map(public, (encoders, outputs, matchers, samplers, losses, metrics)))
    assert len(parts) > 40
    assert parts - found == LEFT_OUT.keys()
