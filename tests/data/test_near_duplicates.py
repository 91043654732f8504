import random

import pytest

from gile_lightning.data.near_duplicates import EarlierTexts, resemblance, sketch


def jaccard(one, other):
    """The share of common runs of five words, by sets of tuples."""
    runs = [{tuple(x[i : i + 5]) for i in range(max(1, len(x) - 4))} for x in (one, other)]
    return len(runs[0] & runs[1]) / len(runs[0] | runs[1])


def words(seed, count):
    return random.Random(seed).choices([f"w{i}" for i in range(5000)], k=count)


@pytest.mark.parametrize("count", [1, 4, 5, 9, 30])
def test_short_texts_are_compared_exactly(count):
    one, new = words(0, count), words(1, 3)
    for other in (one, one[:-1] + new, new + one[1:], one[::-1], one + one):
        expected = jaccard(one, other)
        assert resemblance(sketch(one), sketch(other)) == expected


def test_of_long_texts_it_is_estimated():
    one = words(0, 2000)
    for kept in (500, 1000, 1500, 1900):
        other = one[:kept] + words(kept, 2000 - kept)
        # three standard deviations of a share of 64 draws
        found = resemblance(sketch(one), sketch(other))
        assert found == pytest.approx(jaccard(one, other), abs=3 * 0.5 / 8)


def test_repeated_texts_are_found():
    texts = EarlierTexts()
    stored = {f"d{i}": words(i, 50) for i in range(300)}
    for identity, text in stored.items():
        texts.add(identity, text)
    assert texts.repeated_by("new", stored["d7"]) == ("new", "d7", 1.0)
    near = [*stored["d8"][:42], *words(1000, 8)]
    assert texts.repeated_by("new", near)[:2] == ("new", "d8")
    assert texts.repeated_by("new", near)[2] == jaccard(near, stored["d8"])  # 38 of 54 runs
    assert texts.repeated_by("new", [*stored["d8"][:30], *words(1000, 20)]) is None
    assert texts.repeated_by("new", words(1000, 60)) is None
    assert EarlierTexts().repeated_by("new", near) is None
    texts.add("empty", [])
    assert texts.repeated_by("new", []) == ("new", "empty", 1.0)
