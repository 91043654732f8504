import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import (
    Described,
    ancestors,
    composed,
    described,
    label_text,
    other_names,
)


def tree(**parents):
    """Labels whose names are letters, each with a place, a description and a string of parents."""
    return {
        name: Described(f"f:{name}", name, f"about {name}", (f"{name}1", f"{name}2"), tuple(above))
        for name, above in parents.items()
    }


DIAMOND = tree(a="", b="a", c="a", d="bc", e="d")


def names_above(labels, name, levels):
    return "".join(label.name for label in ancestors(labels[name], labels, levels))


@pytest.mark.parametrize(
    ("levels", "expected"), [(0, ""), (1, "d"), (2, "dbc"), (3, "dbca"), (9, "dbca")]
)
def test_ancestors_are_the_nearest_first_and_each_once(levels, expected):
    assert names_above(DIAMOND, "e", levels) == expected


def test_circles_end_where_they_began():
    labels = tree(a="c", b="a", c="b", self="")
    labels["self"] = labels["self"]._replace(parents=("self", "a"))
    assert names_above(labels, "a", 10**9) == "cb"
    assert names_above(labels, "self", 10**9) == "acb"


def test_a_parent_that_is_no_label():
    labels = {"Liver Diseases": Described("f:1", "Liver Diseases", "Of the liver.")}
    child = Described("f:2", "Fibrosis", "Scars.", (), ("Liver Disease",))
    with pytest.raises(
        InputError,
        match="f:2: the parent 'Liver Disease' of the label 'Fibrosis' is none of the labels; did "
        "you mean 'Liver Diseases'",
    ):
        ancestors(child, labels, 1)
    assert ancestors(child, labels, 0) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("description",), "about d"),
        (("name_description",), "d about d"),
        (("name",), "d"),
        (("description", True), "about d d1 d2"),
        (("description", False, 1), "about d b about b c about c"),
        (("name", True, 2), "d d1 d2 b about b c about c a about a"),
    ],
)
def test_text(options, expected):
    assert label_text(DIAMOND["d"], DIAMOND, *options) == expected


def test_other_names_are_each_there_once_without_the_name():
    assert other_names("a", ["b ", "a", "", " ", "c", " b", "A"]) == ["b", "c", "A"]


def test_one_name_is_a_list_of_one():
    found = described("f:1", "n", {"synonyms": "m", "parents": "p"})
    assert (found.synonyms, found.parents) == (("m",), ("p",))
    twice = ["m", " m ", "n", ""]  # with its own name
    found = described("f:1", "n", {"synonyms": twice, "parents": twice})
    assert found.synonyms == found.parents == ("m",)


@pytest.mark.parametrize("key", ["synonyms", "parents"])
@pytest.mark.parametrize("value", [["a", 5], {"a": "b"}, 0])
def test_lists_of_something_else(key, value):
    with pytest.raises(InputError, match=f"f:1: '{key}' is not a list of strings: "):
        described("f:1", "n", {key: value})


def test_names_that_look_the_same_are_the_same_but_uris_stay():
    assert composed("e\u0301te\u0301") == "\xe9t\xe9"
    assert composed("http://example.org/e\u0301") == "http://example.org/e\u0301"
    assert composed("<http://example.org/1>") == "http://example.org/1"
    assert described("f:1", "n", {"uri": " <http://example.org/1>"}).uri == "http://example.org/1"


def test_descriptions_of_something_else():
    assert described("f:1", " n ", {"description": float("nan")})[1:3] == ("n", "")
    assert described("f:1", "n", {"description": 3})[2] == "3"
    for value in (["a"], {"en": "a"}):
        with pytest.raises(InputError, match="f:1: 'description' is no text: "):
            described("f:1", "n", {"description": value})
