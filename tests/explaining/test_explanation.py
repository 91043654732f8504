import json
import math
from dataclasses import replace

from gile_testing.explanations import EVIL, explanation


def test_json():
    state = json.loads(json.dumps(explanation().state(), allow_nan=False))
    (label,) = state["labels"]
    assert label["contributions"] == {"words": 2.0, "prior": -0.5}
    assert label["words"] == [
        {"place": 0, "text": "Liver,", "contributions": {"words": 1.5}},
        {"place": 2, "text": "rat", "contributions": {"words": 0.5, "names": -0.25}},
    ]
    assert label["phrases"][0]["places"] == [0, 1]
    assert label["sentences"] == [{"words": 1.0, "logit": 1.25}, {}]
    assert [x["attention"] for x in state["sentences"]] == [0.3, 0.7]
    assert [x["text"] for x in state["sentences"]] == [f"Liver, {EVIL}", "rat x"]


def test_numbers_that_json_lacks():
    (label,) = explanation().labels
    given = explanation(labels=[replace(label, logit=-math.inf, sentences=[{"logit": math.inf}])])
    (state,) = json.loads(json.dumps(given.state(), allow_nan=False))["labels"]
    assert state["logit"] is None
    assert state["sentences"] == [{"logit": None}]
