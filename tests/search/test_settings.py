"""The `sweep` section of a configuration."""

import pytest
from optuna.pruners import MedianPruner

from gile_lightning.common.errors import InputError
from gile_lightning.search.settings import Search

TWO = {"val/f1": "maximize", "seconds": "minimize"}


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"trials": 0}, "must be above 0: sweep.trials is 0"),
        ({"trials": None}, "give sweep.trials or sweep.hours"),
        ({"retries": -1}, "sweep.retries is -1; 0 for none"),
        ({"study": "a/b"}, "sweep.study is 'a/b'"),
        ({"objectives": TWO, "pruner": MedianPruner()}, "pruned by a single objective"),
        ({"objectives": {}}, "sweep.objectives is empty"),
        ({"objectives": {"val/avg_precision": "maximize"}}, "mean 'val/average_precision'?"),
        ({"objectives": {"test.seen.f1": "maximize"}}, "test documents must not choose settings"),
        (
            {"objectives": {"seconds": "minimize"}, "pruner": MedianPruner()},
            "sweep.pruner: needs a score of every epoch, not seconds",
        ),
    ],
)
def test_mistakes(section, problem):
    with pytest.raises(InputError) as error:
        Search(**section).directions("val/f1", "max", ["english"])
    assert problem in str(error.value)


def test_objectives():
    assert Search().directions("val/f1", "min", ["english"]) == {"val/f1": "minimize"}
    own = {"val/german/f1": "maximize"}
    assert Search(objectives=own).directions("val/f1", "max", ["english", "german"]) == own
