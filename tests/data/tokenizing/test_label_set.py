from collections import Counter

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelFacts, LabelSet

TEXTS = {name: f"about {name}" for name in "abcdefg"}


def test_seen_labels_by_falling_frequency_then_name_unseen_ones_behind():
    labels = LabelSet.from_counts(Counter(c=2, a=5, b=2), ["g", "c", "d", "g"], TEXTS)
    assert labels.names == ["a", "b", "c", "d", "g"]
    assert labels.frequencies == [5, 2, 2, 0, 0]
    assert labels.texts == ["about a", "about b", "about c", "about d", "about g"]
    assert labels.ids == {"a": 0, "b": 1, "c": 2, "d": 3, "g": 4}
    assert (len(labels), labels.seen) == (5, 3)


def test_extended_keeps_ids_and_texts():
    labels = LabelSet(["b", "a"], ["text of b", "text of a"], [3, 0])
    more = labels.extended(["d", "a", "c", "d"], TEXTS)
    assert more.names == ["b", "a", "c", "d"]
    assert more.texts == ["text of b", "text of a", "about c", "about d"]
    assert more.frequencies == [3, 0, 0, 0]
    assert more.seen == labels.seen == 1
    assert len(labels) == 2  # as it was
    assert LabelSet(["b"], [""], [3], 7).extended(["a"], TEXTS).documents == 7


def test_state_rebuilds_an_equal_set():
    labels = LabelSet.from_counts(Counter(a=1), ["b"], TEXTS, documents=4)
    assert labels.documents == 4
    assert LabelSet(**labels.state()) == labels


SYNONYMS = {"a": ["alpha", "first"], "d": ("delta",), "x": ["none of these"]}


def test_synonyms_stand_beside_the_names():
    labels = LabelSet.from_counts(Counter(b=1, a=5), ["d"], TEXTS, facts=LabelFacts(SYNONYMS))
    assert labels.synonyms == [["alpha", "first"], [], ["delta"]]
    more = labels.extended(["c", "a"], TEXTS, LabelFacts({"c": ["gamma"], "a": ["another"]}))
    assert more.names == ["a", "b", "d", "c"]
    assert more.synonyms == [["alpha", "first"], [], ["delta"], ["gamma"]]
    assert labels.extended(["c"], TEXTS).synonyms == [*labels.synonyms, []]
    assert LabelSet(**labels.state()).synonyms == labels.synonyms
    assert LabelSet(["a", "b"], ["", ""], [2, 1]).synonyms == [[], []]


def test_sets_are_equal_though_one_lacks_synonyms():
    labels = LabelSet.from_counts(Counter(a=1), ["b"], TEXTS, facts=LabelFacts(SYNONYMS))
    state = labels.state()
    assert state.pop("synonyms") == [["alpha", "first"], []]
    assert LabelSet(**state) == labels  # a checkpoint from before there were synonyms
    assert LabelSet(**state, synonyms=[["alpha", "first"], []]) == labels
    assert LabelSet(**state, synonyms=[["alpha"], []]) != labels
    assert LabelSet(**(state | {"texts": ["about a", "other"]})) != labels
    assert labels != labels.names


@pytest.mark.parametrize("lists", [[["x"]], [[], [], []]])
@pytest.mark.parametrize("key", ["synonyms", "parents"])
def test_one_list_for_each_name(key, lists):
    with pytest.raises(InputError, match=f"one list of {key} for each name"):
        LabelSet(["a", "b"], ["", ""], [1, 1], **{key: lists})


@pytest.mark.parametrize(
    ("names", "texts", "frequencies"),
    [(["a", "a"], ["", ""], [1, 1]), (["a"], [], [1]), (["a"], [""], [1, 2])],
)
def test_names_are_unique_with_one_text_and_frequency_each(names, texts, frequencies):
    with pytest.raises(InputError, match="unique names"):
        LabelSet(names, texts, frequencies)


def test_uris_stand_beside_the_names():
    uris = {"a": "urn:a", "d": "urn:d"}
    labels = LabelSet.from_counts(Counter(b=1, a=5), [], TEXTS, facts=LabelFacts(uris=uris))
    assert labels.uris == ["urn:a", ""]
    more = labels.extended(["c", "d"], TEXTS, LabelFacts(uris=uris))
    assert more.uris == ["urn:a", "", "", "urn:d"]
    state = labels.state()
    assert LabelSet(**state).uris == labels.uris
    assert state.pop("uris") == labels.uris
    assert LabelSet(**state) == labels  # a checkpoint from before there were URIs
    assert LabelSet(**state, uris=["urn:b", ""]) != labels
    assert "uris" not in LabelSet(**state).state()
    with pytest.raises(InputError, match="one URI for each name"):
        LabelSet(**state, uris=["urn:a"])


def test_parents_stand_beside_the_names():
    facts = LabelFacts(parents={"a": ["b", "not here"], "d": ("a",)})
    labels = LabelSet.from_counts(Counter(b=1, a=5), [], TEXTS, facts=facts)
    assert labels.parents == [["b", "not here"], []]
    more = labels.extended(["d"], TEXTS, facts)
    assert more.parents == [["b", "not here"], [], ["a"]]
    assert more.facts() == LabelFacts(
        {"a": [], "b": [], "d": []}, {}, {"a": ["b", "not here"], "b": [], "d": ["a"]}
    )
    state = labels.state()
    assert LabelSet(**state).parents == labels.parents
    assert state.pop("parents") == labels.parents
    assert LabelSet(**state) == labels  # a checkpoint from before there were parents
    assert LabelSet(**state, parents=[["x"], []]) != labels
    assert "parents" not in LabelSet(**state).state()
    later = labels.joined({"a": "t", "b": "t"}, LabelFacts(parents={"b": ["c"]}))
    assert later.parents == [["b", "not here"], ["c"]]


def test_parents_that_were_renamed():
    old = LabelSet(
        [*"pck"], [*"uvw"], [3, 2, 1], uris=["urn:p", "", ""], parents=[[], ["p"], ["p"]]
    )
    texts = {"new p": "n", "c": "n"}
    joined = old.joined(texts, LabelFacts(uris={"new p": "urn:p"}, parents={"c": ()}))
    assert joined.names == ["new p", "c", "k"]
    assert joined.parents == [[], ["new p"], ["new p"]]


def test_facts_of_some_labels_before_those_of_others():
    first = LabelFacts({"a": ["x"]}, {"b": "urn:b"}, {"a": ["c"]})
    second = LabelFacts({"a": ["y"], "b": ["z"]}, {"b": "urn:x"}, {"d": ["a"]})
    assert first.before(second) == LabelFacts(
        {"a": ["x"], "b": ["z"]}, {"b": "urn:b"}, {"a": ["c"], "d": ["a"]}
    )


def test_labels_are_the_same_by_uri_before_name():
    uris = ["urn:1", "urn:2", "", "urn:4"]
    old = LabelSet([*"abcd"], [*"tuvw"], [4, 3, 2, 1], 9, [["A"], [], [], []], uris)
    new = LabelSet([*"bcaex"], ["n"] * 5, [0] * 5, uris=["urn:1", "urn:3", "", "", "urn:4"])
    # b has the URI of a; c is matched by name, as the old one has no URI; the old a is taken
    assert new.places_in(old) == [0, 2, -1, -1, 3]
    texts = dict.fromkeys("bcx", "n")
    joined = old.joined(texts, LabelFacts({"x": ["X"]}, {"b": "urn:1", "c": "urn:3", "x": "urn:4"}))
    # a became b, so that the old b, another label, gives way; d became x
    assert joined.names == ["b", "c", "x"]
    assert (joined.texts, joined.frequencies) == (["n"] * 3, [4, 2, 1])
    assert joined.documents == 9
    assert joined.synonyms == [["A"], [], ["X"]]
    assert joined.uris == ["urn:1", "urn:3", "urn:4"]
    assert old.joined({}) == old
