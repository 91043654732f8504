import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.metrics import AveragePrecision, DocumentMetric, PrecisionAt
from gile_lightning.metrics import table as metrics
from gile_testing.own_metric import HitAt


def test_added_metrics_are_in_every_part_of_the_table():
    added = [HitAt(2), PrecisionAt(10, column=False), PrecisionAt(20, validated=False)]
    columns, panels = metrics.ranking_columns(added), metrics.panels(added)
    assert columns == metrics.ranking_columns() | {"hit_at_2": "hit@2", "precision_at_20": "P@20"}
    ours = metrics.validated()
    own = "ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5"
    assert ours == (*own, "f1", "seen_unseen_average_precision")
    assert metrics.validated(added) == (*ours, "hit_at_2", "precision_at_10")
    own = {"hit@2": ("val/hit_at_2",), "P@10": ("val/precision_at_10",)}
    assert panels == metrics.PANELS | own


def test_what_is_drawn_and_shown_is_computed():
    names = {metric.name for metric in (*metrics.DOCUMENT_METRICS, *metrics.NAM16)}
    assert len(names) == 15
    shown = {*metrics.ranking_columns(), *metrics.FREQUENCY_COLUMNS}
    assert shown - names == {"documents", "psp_at_5", metrics.ECE}
    drawn = {name for panel in metrics.PANELS.values() for name in panel}
    logged = {metrics.val(name) for name in metrics.validated()}
    assert drawn <= logged | {metrics.popularity(name) for name in metrics.POPULARITY}


class Broken(DocumentMetric):
    name = "broken"
    heading = "broken"

    def __init__(self, values: torch.Tensor | None = None, **attributes: str) -> None:
        self.values = torch.zeros(3) if values is None else values
        for key, value in attributes.items():
            setattr(self, key, value)

    def __call__(self, ranks):
        return self.values


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ([AveragePrecision()], "another metric has the name 'average_precision'"),
        ([HitAt(2), HitAt(2)], "another metric has the name 'hit_at_2'"),
        ([Broken(name="seen_unseen_average_precision")], "another metric has the name"),
        ([Broken(heading="PSP@5")], "another metric has the heading 'PSP@5'"),
        ([Broken(name="")], "needs a name, not ''"),
        ([Broken(name="mean/rank")], "needs a name, not 'mean/rank'"),
        ([Broken(heading="")], "needs a heading"),
        ([Broken(torch.zeros(()))], r"\[3\] floating point .* not torch.float32 \[\]"),
        ([Broken(torch.zeros(3, dtype=torch.long))], r"not torch.int64 \[3\]"),
    ],
)
def test_metrics_that_are_refused(added, message):
    with pytest.raises(InputError, match=rf"^model.metrics: \w+:? .*{message}"):
        metrics.checked(added)


def test_unknown_score():
    with pytest.raises(InputError, match=r"^key is 'val/hits'; did you mean 'val/hit_at_2'\?"):
        metrics.check_score("key", "val/hits", ["val/f1", "val/hit_at_2"])
    with pytest.raises(InputError, match=r"^key is 'x'; the scores are val/f1, b$"):
        metrics.check_score("key", "x", ["val/f1", "b"])
