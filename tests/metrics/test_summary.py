import math

import pytest

from gile_lightning.metrics.summary import average

NAN = math.nan


def scores(precision, error, documents, skipped):
    return {
        "average_precision": precision,
        "one_error": error,
        "documents": documents,
        "skipped": skipped,
    }


def micro(f1, threshold, labels, documents=10, **tuned):
    return {"documents": documents, "labels": labels, "threshold": threshold, "f1": f1, **tuned}


def test_language_without_a_document():
    """Its scores are NaN and do not count; the documents that it skipped do."""
    by_language = {
        "english": {"seen": scores(0.5, 0.2, 5, 0), "unseen": scores(NAN, NAN, 0, 5)},
        "german": {"seen": scores(0.7, 0.4, 7, 0), "unseen": scores(0.1, 0.9, 4, 3)},
        "spanish": {"seen": scores(0.9, 0.6, 3, 0), "unseen": scores(0.3, 0.7, 2, 1)},
    }
    for names in (by_language, reversed(by_language)):
        found = average({name: by_language[name] for name in names})
        assert found["seen"] == pytest.approx(scores(0.7, 0.4, 15, 0))
        assert found["unseen"] == pytest.approx(scores(0.2, 0.8, 6, 9))


def test_no_language_with_a_document():
    nothing = {"unseen": scores(NAN, NAN, 0, 2)}
    found = average({"english": nothing, "german": nothing})
    assert found["unseen"] == pytest.approx(scores(NAN, NAN, 0, 4), nan_ok=True)


def test_thresholds_are_kept_where_they_are_equal():
    tuned = {"tuned_threshold": 0.31, "tuned_f1": 0.5}
    other = {"tuned_threshold": 0.27, "tuned_f1": 0.7}
    found = average(
        {
            "english": {"micro": micro(0.4, 0.4, 300, **tuned)},
            "german": {"micro": micro(0.6, 0.4, 20, **other)},
        }
    )
    assert found == {"micro": pytest.approx(micro(0.5, 0.4, 320, documents=20, tuned_f1=0.6))}
    found = average(
        {
            "english": {"micro": micro(0.4, 0.2, 500, **tuned)},
            "german": {"micro": micro(0.6, 0.4, 20, **tuned)},
        }
    )
    expected = micro(0.5, 0.4, 520, documents=20, **tuned)
    del expected["threshold"]
    assert found == {"micro": pytest.approx(expected)}


def test_scores_that_some_languages_lack():
    """Propensities need the number of training documents, which a task may lack."""
    known = scores(0.5, 0.2, 5, 0) | {"psp_at_5": 0.3}
    plain = {"english": {"seen": scores(0.7, 0.4, 5, 1)}}
    for by_language in ({"german": {"seen": known}} | plain, plain | {"german": {"seen": known}}):
        assert average(by_language) == {"seen": pytest.approx(scores(0.6, 0.3, 10, 1))}
    # a language without a document does not count
    nothing = scores(NAN, NAN, 0, 2)
    found = average({"english": {"seen": nothing}, "german": {"seen": known}})
    assert found["seen"] == scores(0.5, 0.2, 5, 2) | {"psp_at_5": 0.3}


def test_one_language_and_none():
    alone = {"seen": scores(0.5, 0.25, 9, 3), "micro": micro(0.4, 0.2, 500, tuned_threshold=0.3)}
    assert average({"english": alone}) == alone
    assert average({}) == {}
