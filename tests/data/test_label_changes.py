"""Files of label changes, and what they do to labels and documents."""

import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus
from gile_lightning.data.label_changes import (
    Change,
    LabelChanges,
    inherited_facts,
    inherited_texts,
    read_changes,
    regroup,
)
from gile_lightning.data.tokenizing.label_set import LabelFacts
from gile_testing.corpora import ready

ROWS = [("a", ["x"]), ("b", ["x"]), ("c", ["c", "y"]), ("d", [])]


def written(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_every_format_says_the_same(tmp_path, ending):
    if ending == "jsonl":
        values = {0: None, 1: "x"}
        text = "".join(
            json.dumps({"old": old, "new": values.get(len(new), new)}) + "\n" for old, new in ROWS
        )
    else:
        mark = "," if ending == "csv" else "\t"
        text = "".join(f"{old}{mark}{' | '.join(new)}\n" for old, new in [("old", ["new"]), *ROWS])
    file = written(tmp_path, f"changes.{ending}", text)
    first = 1 if ending == "jsonl" else 2  # below the header
    expected = [Change(f"{file}:{i}", o, tuple(n)) for i, (o, n) in enumerate(ROWS, first)]
    assert list(read_changes(file).changes) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("old,new\na,b\na,c\n", r"c\.csv:3: 'a' is changed already at .*c\.csv:2; give all"),
        ("old,new\na,b\nb,c\n", r"c\.csv:2: 'a' becomes 'b', which .*c\.csv:3 changes in turn"),
        ("old,new\na,b\nb,a\n", r"c\.csv:2: 'a' becomes 'b', which .*c\.csv:3 changes in turn"),
        ("old,to\na,b\n", r"c\.csv:2: no 'new'; a change has 'old' and 'new', here are old, to"),
        ("old,new\n,b\n", r"c\.csv:2: 'old' is a name or URI"),
        ("old,new\n", r"c\.csv: no label change in the file"),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_changes(written(tmp_path, "c.csv", text))


def test_names_lose_spaces_and_uris_their_brackets(tmp_path):
    lines = '{"old": " a ", "new": ["x ", "x"]}\n{"old": "<urn:b>", "new": " y"}\n'
    found = read_changes(written(tmp_path, "c.jsonl", lines)).changes
    assert [change[1:] for change in found] == [("a", ("x",)), ("urn:b", ("y",))]


def test_a_file_in_another_encoding(tmp_path):
    data = corpus(tmp_path, "old,new\na,x\n")
    data.label_changes.write_bytes("old,new\na,é\n".encode("latin-1"))
    with pytest.raises(InputError, match="not utf-8 text"):
        data.changes()
    data.encoding = "latin-1"
    assert data.changes().changes[0].new == ("é",)


@pytest.mark.parametrize("new", [3, ["x", 3], [""], [" "], {"x": 1}])
def test_what_a_label_becomes_is_a_name_or_a_list_of_them(tmp_path, new):
    file = written(tmp_path, "c.jsonl", json.dumps({"old": "a", "new": new}))
    with pytest.raises(InputError, match=r"c\.jsonl:1: 'old' is a name or URI, and 'new' names"):
        read_changes(file)


def test_spaces_are_no_label(tmp_path):
    file = written(tmp_path, "c.jsonl", json.dumps({"old": " ", "new": "a"}))
    with pytest.raises(InputError, match=r"c\.jsonl:1: 'old' is a name or URI, and 'new' names"):
        read_changes(file)


def test_labels_are_named_by_uri_too():
    changes = LabelChanges([Change("f:1", "urn:1", ("urn:2",)), Change("f:2", "c", ("C",))])
    assert changes.resolve("abc", {"a": "urn:1", "b": "urn:2"}) == {"a": ("b",), "c": ("C",)}
    with pytest.raises(InputError, match="f:1: no label has the URI 'urn:2'"):
        changes.resolve("abc", {"a": "urn:1"})
    twice = LabelChanges([Change("f:1", "urn:1", ()), Change("f:2", "a", ("C",))])
    with pytest.raises(InputError, match="f:2: 'a' is changed already at f:1"):
        twice.resolve("a", {"a": "urn:1"})
    with pytest.raises(InputError, match="f:2: there is no label 'c'; did you mean 'C'"):
        changes.check(["C", "urn:1"])


def test_what_labels_inherit():
    targets = {"a": ("x",), "b": ("x",), "c": ("c", "y"), "d": ("b",)}
    groups = regroup("abcd", targets)
    assert groups == {"x": ["a", "b"], "c": ["c"], "y": ["c"], "b": ["d"]}
    texts = {"a": "a hunts", "b": "about b", "c": "c", "d": "dive"}
    # "x" begins like "a", whose name stood before its description; "y" was named alone
    found = inherited_texts(groups, texts)
    assert found == {"x": "x hunts", "c": "c", "y": "y", "b": "about b"}
    facts = LabelFacts(
        {"a": ["x", "k"], "b": ["k", "l"], "c": ["m"]},
        {name: f"urn:{name}" for name in "abcd"},
        {"a": ["b", "c"], "b": ["top"], "d": ["c"]},
    )
    found = inherited_facts(groups, facts, targets)
    assert found.synonyms == {"x": ["k", "l"], "c": ["m"], "y": ["m"], "b": ["k", "l"]}
    assert found.uris == {"c": "urn:c", "b": "urn:b"}
    # b, a parent of a, became x as a did; the new b has the parent of the old one beside d's
    assert found.parents == {"x": ["c", "y", "top"], "c": [], "y": [], "b": ["top", "c", "y"]}
    renamed = inherited_facts(regroup("ab", {"a": ("z",)}), facts, {"a": ("z",)})
    assert renamed.uris == {"z": "urn:a", "b": "urn:b"}


def corpus(tmp_path, changes):
    documents = [["a"], ["b", "a"], ["c"], ["d", "c"], ["e"], ["d"]]
    lines = (
        json.dumps({"id": i, "text": f"word {i}", "labels": own, "split": split})
        for split in ("train", "validation", "test")
        for i, own in enumerate(documents, 10 * len(split))
    )
    labels = (json.dumps({"name": x, "description": f"about {x}"}) for x in "abcdef")
    return Corpus(
        str(written(tmp_path, "d.jsonl", "\n".join(lines))),
        written(tmp_path, "l.jsonl", "\n".join(labels)),
        columns=Columns(id="id", text="text", labels="labels", split="split"),
        split_year=None,
        min_count=1,
        cache_dir=tmp_path / "cache",
        label_changes=written(tmp_path, "c.csv", changes),
    )


def test_a_corpus_is_read_with_its_label_changes(tmp_path):
    data = corpus(tmp_path, "old,new\na,x\nb,x\nc,c|y\nd,\nf,\n")
    task = ready(data).tasks["english"]
    found = dict(zip(task.labels.names, task.labels.frequencies, strict=True))
    # of six documents two have a or b, two have c, and one has d alone
    assert found == {"x": 2, "c": 2, "y": 2, "e": 1}
    assert dict(zip(task.labels.names, task.labels.texts, strict=True))["x"] == "about a"
    assert data.meta["counts"]["documents"] == dict.fromkeys(("train", "validation", "test"), 5)
    assert data.meta["skipped"]["documents without a described label"]["count"] == 3


def test_a_label_without_a_description_is_known(tmp_path):
    data = corpus(tmp_path, "old,new\ng,h\na,x\n")
    with data.label_files()[0].open("a") as file:
        file.write('\n{"name": "g"}\n{"name": "h"}')
    assert "x" in ready(data).tasks["english"].labels.names


def test_a_label_that_nothing_has_is_refused(tmp_path):
    data = corpus(tmp_path, "old,new\na,x\nbb,x\n")
    with pytest.raises(InputError, match=r"c\.csv:3: there is no label 'bb'"):
        data.prepare_data()
