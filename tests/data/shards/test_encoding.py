import gc
import random
import re
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS, Document
from gile_lightning.data.formats.line_count import Total
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.known import Known, KnownDocuments, Predecessor
from gile_lightning.data.loading.document_hashes import document_hashes
from gile_lightning.data.shards import encoding_settings, reading, text_splitting
from gile_lightning.data.shards.encoding import encode
from gile_lightning.data.shards.encoding_settings import EncodingSettings
from gile_lightning.data.tokenizing.label_set import LabelFacts, LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

TEXTS = {f"label{i}": f"about label{i}" for i in range(30)}
SETTINGS = EncodingSettings(min_count=3, max_document_words=12, validation_size=9)
NO_DOCUMENT = "described labels that no document has (predict --labels scores them)"


def make_documents(number=60, splits=("train", "train", "test")):
    """Random documents with words and labels of falling frequency."""
    generator = random.Random(1)
    documents = []
    for i in range(number):
        words = [f"w{'abcdefghijklmnop'[int(generator.expovariate(0.3)) % 16]}" for _ in range(15)]
        kept = generator.randint(1, 15)
        labels = [f"label{int(generator.expovariate(0.2)) % 40}" for _ in range(4)]
        split = splits[i % len(splits)]
        documents.append(Document(f"file:{i}", f"id{i}", [" ".join(words[:kept])], labels, split))
    return documents


DOCUMENTS = make_documents()


@pytest.fixture
def run(tmp_path):
    """Encodes and reads back the rows of each split, the language and the counts."""
    runs = iter(range(1_000))

    def run(
        documents=DOCUMENTS,
        texts=TEXTS,
        settings=SETTINGS,
        trained=None,
        known=None,
        known_documents=None,
        new_words=False,
        **more,
    ):
        directory = tmp_path / str(next(runs))
        directory.mkdir()
        skipped = Skipped()
        counts = encode(
            documents,
            texts,
            directory,
            settings,
            skipped,
            predecessor=Predecessor(
                trained=trained, known=known, documents=known_documents, new_words=new_words
            ),
            **more,
        )
        rows = {split: [] for split in SPLITS}
        files = sorted(directory.glob("*.arrow"))
        for file in files:
            with pa.OSFile(str(file)) as stream:
                table = pa.ipc.open_stream(stream).read_all()
            rows[file.name.partition("-")[0]] += table.to_pylist()
        names = {file.name for file in files} | {"task.json"}
        assert {file.name for file in directory.iterdir()} == names  # no raw shard is left
        assert counts["documents"] == {s: len(rows[s]) for s in (["test"] if trained else SPLITS)}
        return SimpleNamespace(
            **rows,
            rows=rows,
            counts=counts,
            skipped=skipped.state(),
            task=Task.load(directory / "task.json"),
            files=len(files),
            content={name: (directory / name).read_bytes() for name in sorted(names)},
        )

    return run


def ids(rows):
    return [row["id"] for row in rows]


def documents_of(rows):
    by_id = {document.id: document for document in DOCUMENTS}
    return [by_id[row["id"]] for row in rows]


def described(document):
    return [name for name in dict.fromkeys(document.labels) if name in TEXTS]


# ---------------------------------------------------------------- words and labels


def test_documents_decode_to_their_words_and_labels(run):
    result = run()
    vocabulary, names = result.task.tokenizer.vocabulary, result.task.labels.names
    assert len(result.test) == 20
    for split in SPLITS:
        for row, document in zip(result.rows[split], documents_of(result.rows[split]), strict=True):
            words = document.pieces[0].split()[:12]
            expected = [word if word in vocabulary else "UNK" for word in words]
            assert [vocabulary[i] for i in row["words"]] == expected
            assert [names[i] for i in row["labels"]] == described(document)
            assert row["sentence_lengths"] == [len(words)]


def test_vocabulary_is_of_the_training_documents(run):
    result = run()
    training = documents_of(result.train)
    counts = Counter(word for d in training for word in d.pieces[0].split()[:12])
    kept = sorted((word for word in counts if counts[word] >= 3), key=lambda w: (-counts[w], w))
    assert len(kept) < len(counts)  # something is rare
    assert result.task.tokenizer == Tokenizer([*kept, "UNK"], 12, 50)
    assert result.counts["words"] == len(kept) + 1
    assert result.skipped["words rarer than min_count = 3"]["count"] == len(counts) - len(kept)


@pytest.mark.parametrize(("fewer", "same_as"), [(0, 1), (1, 2)])
def test_words_of_one_occurrence_where_words_are_few(run, monkeypatch, fewer, same_as):
    expected = run(settings=replace(SETTINGS, min_count=same_as))
    counted = sum(len(row["words"]) for row in expected.train)  # UNK too
    monkeypatch.setattr(encoding_settings, "FEW_WORDS", counted - fewer)
    found = run(settings=replace(SETTINGS, min_count="auto"))
    assert found.task.tokenizer == expected.task.tokenizer
    assert found.skipped == expected.skipped


def test_words_of_names_and_synonyms_if_wanted(tmp_path):
    documents = [Document("", split, ["cell"], ["a name"], split) for split in SPLITS]
    texts = {"a name": "cell", "other": "cell"}
    synonyms = {"a name": ["alias 5", "cell"], "other": (), "no label": ["nothing"]}
    settings = EncodingSettings(min_count=1, label_words=True)
    encode(documents, texts, tmp_path, settings, Skipped(), facts=LabelFacts(synonyms))
    task = Task.load(tmp_path / "task.json")
    assert sorted(task.tokenizer.vocabulary) == sorted(
        ["cell", "a", "name", "other", "alias", "NUM", "UNK"]
    )
    assert task.labels.names == ["a name"]
    assert task.labels.synonyms == [["alias 5", "cell"]]


def test_a_model_trained_further_keeps_what_the_corpus_does_not_tell(tmp_path):
    documents = [Document("", split, ["cell"], ["a name"], split) for split in SPLITS]
    own = LabelSet(["a name"], ["cell"], [3], synonyms=[["alias"]], parents=[["above"]])
    facts = LabelFacts({"a name": ()}, {}, {"a name": ()})  # as of a file without these columns
    given = {"predecessor": Predecessor(known=Known(own)), "facts": facts}
    given["tokenizer"] = Tokenizer(["cell", "UNK"])
    settings = EncodingSettings(min_count=1)
    encode(documents, {"a name": "cell"}, tmp_path, settings, Skipped(), **given)
    labels = Task.load(tmp_path / "task.json").labels
    assert (labels.synonyms, labels.parents) == ([["alias"]], [["above"]])


def test_a_known_label_that_is_described_by_unknown_words_keeps_its_text(tmp_path):
    """So it is with word vectors, where no other words are known."""
    documents = [Document("", split, ["cell"], ["a name"], split) for split in SPLITS]
    given = {"predecessor": Predecessor(known=Known(LabelSet(["a name"], ["cell"], [3])))}
    given["tokenizer"] = Tokenizer(["cell", "UNK"], known_words_only=True)
    skipped, texts = Skipped(), {"a name": "zelle", "b": "cell"}
    encode(documents, texts, tmp_path, EncodingSettings(min_count=1), skipped, **given)
    labels = Task.load(tmp_path / "task.json").labels
    assert (labels.names, labels.texts) == (["a name"], ["cell"])
    assert "labels without a known word" not in skipped.counts


def hashes_of(rows, tokenizer):
    words = np.concatenate([row["words"] for row in rows])
    lengths = np.array([len(row["words"]) for row in rows])
    unknown = len(tokenizer.vocabulary) - 1
    return np.sort(document_hashes([row["id"] for row in rows], words, lengths, unknown))


@pytest.mark.parametrize("size", [7, 1_000])
def test_documents_that_a_model_knows_keep_their_split_in_several_shards(run, monkeypatch, size):
    monkeypatch.setattr(text_splitting, "SHARD", size)
    open_documents = [document._replace(split="") for document in DOCUMENTS]
    settings = replace(SETTINGS, test_size=0.3, validation_size=0.2)
    first = run(open_documents, settings=settings)
    tokenizer = first.task.tokenizer
    known = {split: hashes_of(first.rows[split], tokenizer) for split in SPLITS}
    given = {"tokenizer": tokenizer, "known_documents": KnownDocuments(known)}
    again = run(open_documents, settings=replace(settings, split_seed=5), **given)
    assert {split: ids(again.rows[split]) for split in SPLITS} == {
        split: ids(first.rows[split]) for split in SPLITS
    }
    assert again.counts["known"] == {split: len(first.rows[split]) for split in SPLITS}


def test_a_model_knows_all_documents_from_training(run):
    open_documents = [document._replace(split="") for document in DOCUMENTS]
    settings = replace(SETTINGS, test_size=0.3)
    first = run(open_documents, settings=settings)
    tokenizer = first.task.tokenizer
    every = hashes_of([row for split in SPLITS for row in first.rows[split]], tokenizer)
    given = {"tokenizer": tokenizer, "known_documents": KnownDocuments({"train": every})}
    message = r"\d+ do not test, as they trained the model: give others, or train on all with"
    with pytest.raises(InputError, match=message):
        run(open_documents, settings=settings, **given)
    message = "give others, or score all others with --data[.]test_size 0"
    with pytest.raises(InputError, match=message):
        run(open_documents, settings=settings, trained=first.task, **given)
    again = run(open_documents, settings=replace(settings, test_size=0), **given)
    assert len(again.validation) == 9  # rather than none
    of_training = [row for split in ("train", "validation") for row in first.rows[split]][:20]
    parts = {"train": hashes_of(of_training, tokenizer)}
    given = {"tokenizer": tokenizer, "known_documents": KnownDocuments(parts)}
    left = {"documents that trained or validated the model": 20}
    undrawn = "documents not drawn to test (--data.test_size; 0 tests all)"
    left |= {undrawn: len(every) - 20 - len(first.test)}
    scored = run(open_documents, settings=settings, trained=first.task, **given)
    assert {reason: scored.skipped[reason]["count"] for reason in left} == left
    assert len(again.train) == len(every) - 9


def test_seen_labels_by_training_frequency_unseen_ones_behind(run):
    result = run()
    training = Counter(name for d in documents_of(result.train) for name in described(d))
    others = documents_of(result.validation + result.test)
    unseen = {name for d in others for name in described(d)} - set(training)
    assert unseen
    labels = result.task.labels
    assert labels.names == sorted(training, key=lambda n: (-training[n], n)) + sorted(unseen)
    assert labels.frequencies == [training[name] for name in labels.names]
    assert labels.documents == len(result.train)
    assert labels.texts == [TEXTS[name] for name in labels.names]
    assert result.counts["seen_labels"] == labels.seen == len(training)
    assert result.counts["unseen_labels"] == len(unseen)
    unused = len(TEXTS) - len(labels)
    assert result.skipped[NO_DOCUMENT]["count"] == unused


@pytest.mark.parametrize("size", [1, 7, 60])
def test_several_shards_give_the_same_as_one(run, monkeypatch, size):
    one = run()
    monkeypatch.setattr(text_splitting, "SHARD", size)
    several = run()
    assert several.files > one.files or size >= len(DOCUMENTS)
    assert several.rows == one.rows
    assert several.task == one.task
    assert several.counts == one.counts
    assert several.skipped == one.skipped


# ---------------------------------------------------------------- a given vocabulary


FIXED = Tokenizer(["wc", "unused", "wa", "about", "label1", "UNK"], 12, 50, known_words_only=True)


@pytest.mark.parametrize("size", [7, 1_000])
def test_given_vocabulary_is_kept(run, monkeypatch, size):
    monkeypatch.setattr(text_splitting, "SHARD", size)
    result = run(tokenizer=FIXED)
    assert result.task.tokenizer == FIXED
    assert result.counts["words"] == 6
    word_ids = {"wc": 0, "wa": 2}
    found = [row for split in SPLITS for row in result.rows[split]]
    for row in found:
        document = next(d for d in DOCUMENTS if d.id == row["id"])
        known = [word_ids[word] for word in document.pieces[0].split() if word in word_ids]
        assert row["words"] == known[:12]
        assert row["sentence_lengths"] == [len(row["words"])]
    usable = [
        d for d in DOCUMENTS if described(d) and not word_ids.keys().isdisjoint(d.pieces[0].split())
    ]
    assert sorted(ids(found)) == sorted(d.id for d in usable)
    assert len(usable) < len(DOCUMENTS)
    wordless = sum(bool(described(d)) for d in DOCUMENTS) - len(usable)
    assert result.skipped["documents without a word"]["count"] == wordless


# ---------------------------------------------------------------- what is left out


def test_what_is_left_out_is_counted(run):
    words = ["word"]
    documents = [
        Document("f:1", "1", words, ["label0", "none", "label0", "nil"], "train"),
        Document("f:2", "2", words, ["none"], "train"),
        Document("f:3", "1", ["other"], ["label1"], "train"),
        Document("f:4", "3", ["", " \n"], ["label0"], "train"),
        Document("f:5", "4", words, ["label1"], "train"),
        Document("f:6", "5", words, ["label2"], "test"),
        Document("f:7", "4", words, ["label1"], "test"),
        Document("f:8", "2", words, ["label1"], "train"),  # the first one was of no use
    ]
    result = run(documents, settings=EncodingSettings(min_count=1, validation_size=1))
    assert sorted(ids(result.train + result.validation)) == ["1", "2", "4"]
    assert ids(result.test) == ["5"]
    first = next(row for row in result.train + result.validation if row["id"] == "1")
    assert [result.task.labels.names[i] for i in first["labels"]] == ["label0"]
    assert result.skipped == {
        "documents with an id that came before": {"count": 2, "first": "f:3"},
        "assignments of labels without a description or unknown": {
            "count": 3,
            "first": "f:1: none",
        },
        "documents without a described label": {"count": 1, "first": "f:2"},
        "documents without a word": {"count": 1, "first": "f:4"},
        NO_DOCUMENT: {"count": 27, "first": ""},
    }


@pytest.mark.parametrize(
    ("documents", "settings", "message"),
    [
        ([], {}, "no document has a described label"),
        ([Document("", "1", ["a"], ["none"], "train")], {}, "no document has a described label"),
        (DOCUMENTS, {"min_count": 1_000}, "no word occurs 1000 times in the training documents"),
        (
            [Document("f:1", "1", ["a"], ["Label1"], "train")],
            {},
            r"Left out: 1 assignments of labels that are described in other case, .* \(first: f:1: "
            r"Label1\); 1 documents without a described label .*; labels are lost, as names differ",
        ),
        (
            [Document("f:1", "1", [""], ["label1"], "train")],
            {},
            r"no document has a word\. Left out: 1 documents without a word \(first: f:1\)",
        ),
        (
            [d for d in DOCUMENTS if d.split == "train"],
            {},
            "no test document is left; .*; to train on all documents, set --data.test_size 0",
        ),
        ([d for d in DOCUMENTS if d.split == "test"], {}, "no train document is left"),
        (
            [d._replace(split=s) for d, s in zip(DOCUMENTS, ("test", "validation"), strict=False)],
            {},
            "no train document is left",
        ),
    ],
)
def test_nothing_to_encode(run, documents, settings, message):
    with pytest.raises(InputError, match=message):
        run(documents, settings=replace(SETTINGS, **settings))


# ---------------------------------------------------------------- reading and splitting at once


@pytest.mark.parametrize("num_proc", [0, 2])
@pytest.mark.parametrize(("shard", "chunk"), [(7, 3), (1_000, 256)])
def test_two_threads_write_the_same_files(run, monkeypatch, num_proc, shard, chunk):
    monkeypatch.setattr(text_splitting, "SHARD", shard)
    monkeypatch.setattr(text_splitting, "CHUNK", chunk)
    documents = list(DOCUMENTS)
    documents[5] = documents[5]._replace(id="id2")  # came before
    documents[9] = documents[9]._replace(pieces=["", " "])  # so that the next one is the first
    documents[10] = documents[10]._replace(id="id9", pieces=["only here", "wa wb. wc"])
    documents[30] = documents[30]._replace(labels=["none"])
    one, two = (run(documents, num_proc=n) for n in (1, num_proc))
    assert two.content == one.content
    assert two.counts == one.counts
    assert two.skipped == one.skipped
    assert {"documents with an id that came before", "documents without a word"} < set(one.skipped)


def test_disk_space_is_said_after_the_first_shard(run, monkeypatch, tmp_path):
    monkeypatch.setattr(text_splitting, "SHARD", 1_000)
    said = []
    monkeypatch.setattr(reading, "tell_space", lambda *given: said.append(given))
    documents = make_documents(4_000, ("train",) * 9 + ("test",))
    run(documents, settings=replace(SETTINGS, validation_size=0), total=Total(4_000))
    ((_, size, folder, remedy),) = said
    taken = sum(path.stat().st_size for path in tmp_path.rglob("*.arrow"))
    assert size == pytest.approx(taken, rel=0.1)
    assert folder == tmp_path
    assert "data.cache_dir" in remedy
    run(documents[:1_000], total=Total(1_000))  # one shard: there is nothing to foretell
    run(documents, settings=replace(SETTINGS, validation_size=0))  # who knows how many
    assert len(said) == 1


# ---------------------------------------------------------------- splits


@pytest.mark.parametrize(("size", "expected"), [(1, 1), (9, 9), (39, 39), (0.25, 10), (0.001, 1)])
def test_validation_documents_are_drawn_from_training(run, size, expected):
    result = run(settings=replace(SETTINGS, min_count=1, validation_size=size))
    assert len(result.validation) == expected
    training, validation = set(ids(result.train)), set(ids(result.validation))
    assert not training & validation
    assert training | validation == {d.id for d in DOCUMENTS if d.split == "train"}
    assert ids(result.test) == [d.id for d in DOCUMENTS if d.split == "test"]


def test_draw_depends_on_the_seed_alone(run):
    first, again = run(), run()
    other = run(settings=replace(SETTINGS, split_seed=2))
    assert ids(first.validation) == ids(again.validation)
    assert ids(first.validation) != ids(other.validation)
    assert len(other.validation) == 9


@pytest.mark.parametrize(("size", "expected"), [(12, 12), (0.3, 18)])
def test_test_documents_are_drawn_where_nothing_says_which(run, size, expected):
    result = run(
        make_documents(splits=("",)), settings=replace(SETTINGS, test_size=size, validation_size=5)
    )
    assert [len(result.rows[s]) for s in SPLITS] == [60 - 5 - expected, 5, expected]
    found = [id for split in SPLITS for id in ids(result.rows[split])]
    assert sorted(found) == sorted(d.id for d in DOCUMENTS)
    with pytest.raises(InputError, match="test_size = 60 would take all 60 documents"):
        run(make_documents(splits=("",)), settings=replace(SETTINGS, test_size=60))


# ---------------------------------------------------------------- labels that are held out


def labelled(split, rows):
    """A document per row of labels, with a word of its own; ids say the split and the number."""
    return [
        Document("", f"{split}{i}", [f"word w-{split}-{i}"], row, split)
        for i, row in enumerate(rows)
    ]


LABELLED = [
    *labelled(
        "train", [["label5", "label6"], ["label5"], ["label6", "label7"], ["label7"], ["label8"]]
    ),
    *labelled("validation", [["label5", "label6"], ["label7", "label9"]]),
    *labelled("test", [["label5", "label8"], ["label6", "label7"]]),
]
POOL = ["label5", "label6", "label7"]  # of training and validation documents


@pytest.mark.parametrize("size", [2])
@pytest.mark.parametrize("held_out", [1, 2, 0.4, 0.01])  # 0.4 * 3 labels is 1.2, and 0.03 is 1 too
def test_held_out_labels(run, monkeypatch, size, held_out):
    monkeypatch.setattr(text_splitting, "SHARD", size)
    drawn_ones = set()
    for seed in range(12):
        settings = EncodingSettings(min_count=1, held_out_labels=held_out, split_seed=seed)
        plain = run(LABELLED, settings=replace(settings, held_out_labels=0))
        result = run(LABELLED, settings=settings)
        drawn = set(plain.task.labels.names[: plain.task.labels.seen])
        drawn -= set(result.task.labels.names[: result.task.labels.seen])
        assert len(drawn) == max(1, int(held_out))
        assert drawn <= set(POOL)
        drawn_ones |= drawn
        expected = {
            split: {d.id: d.labels for d in LABELLED if d.split == split} for split in SPLITS
        }
        training = {
            id: [name for name in labels if name not in drawn]
            for id, labels in expected["train"].items()
        }
        expected["train"] = {id: labels for id, labels in training.items() if labels}
        names = result.task.labels.names
        for split, documents in expected.items():
            rows = result.rows[split]
            assert {r["id"]: [names[i] for i in r["labels"]] for r in rows} == documents
            words = {r["id"]: r["words"] for r in plain.rows[split]}
            assert [r["words"] for r in rows] == [words[r["id"]] for r in rows]
        counts = Counter(name for labels in training.values() for name in labels)
        assert result.task.labels.frequencies == [counts[name] for name in names]
        assert result.task.labels.documents == len(result.train)
        assert result.task.tokenizer == plain.task.tokenizer  # with the words of all training texts
        assert result.counts["held_out_labels"] == len(drawn)
        assert result.counts["unseen_labels"] == len(drawn) + 1  # and label9
        bare = sum(not labels for labels in training.values())
        taken = sum(name in drawn for d in LABELLED if d.split == "train" for name in d.labels)
        skipped = {reason: case["count"] for reason, case in result.skipped.items()}
        reason = "training documents with no label but held-out ones"
        assert skipped.pop(reason, 0) == bare
        assert skipped.pop("training assignments of held-out labels") == taken
        assert skipped == {reason: case["count"] for reason, case in plain.skipped.items()}
    assert drawn_ones == set(POOL)


@pytest.mark.parametrize("held_out", [3, 7, 0.9])
def test_labels_cannot_all_be_held_out(run, held_out):
    message = f"held_out_labels = {held_out:g} would take all 3 labels that training and valid"
    with pytest.raises(InputError, match=message):
        run(LABELLED, settings=EncodingSettings(min_count=1, held_out_labels=held_out))


def test_labels_that_an_earlier_model_knows_are_not_held_out(run):
    given = {"tokenizer": Tokenizer(["word", "UNK"])}
    own = LabelSet(["label5"], ["about label5"], [4], 7)
    counts = {"label5": 6, "label6": 2, "label7": 2, "label8": 1, "label9": 0}
    drawn = set()
    for seed in range(6):
        settings = EncodingSettings(min_count=1, held_out_labels=1, split_seed=seed)
        labels = run(LABELLED, settings=settings, known=Known(own), **given).task.labels
        (held_out,) = {*labels.names[labels.seen :]} - {"label9"}
        found = dict(zip(labels.names, labels.frequencies, strict=True))
        assert found == counts | {held_out: 0}
        drawn.add(held_out)
    assert drawn == {"label6", "label7"}
    own = LabelSet(["label5", "label7"], ["about label5", "about label7"], [4, 3], 7)
    message = "1 labels that training and validation documents have, and the model does not know"
    with pytest.raises(InputError, match=message):
        run(LABELLED, settings=settings, known=Known(own), **given)


@pytest.mark.parametrize("word", ["New\nYork", "old\rtown"])
def test_a_word_that_the_corpus_gives_has_no_line_break(run, word):
    documents = [Document("", split, [["is", word]], ["label1"], split) for split in SPLITS]
    with pytest.raises(InputError, match=re.escape(f"gives the word {word!r}: no word may")):
        run(documents, settings=EncodingSettings(min_count=1))


# ---------------------------------------------------------------- a trained model


TRAINED = Task(
    Tokenizer(["wb", "wa", "other", "UNK"], max_document_words=12, max_label_words=5),
    LabelSet(["label3", "zzz", "label0"], ["text of 3", "text of zzz", "text of 0"], [9, 4, 0], 11),
)


@pytest.mark.parametrize("size", [7, 1_000])
def test_known_vocabulary_and_label_ids_are_kept(run, monkeypatch, size):
    monkeypatch.setattr(text_splitting, "SHARD", size)
    result = run(trained=TRAINED)
    tested = [d for d in DOCUMENTS if d.split == "test"]
    assert ids(result.test) == [d.id for d in tested]
    assert result.train == result.validation == []
    new = sorted({name for d in tested for name in described(d)} - {"label3", "zzz", "label0"})
    assert new
    assert result.task.tokenizer == TRAINED.tokenizer
    labels = result.task.labels
    assert labels.names == ["label3", "zzz", "label0", *new]
    assert labels.texts == ["text of 3", "text of zzz", "text of 0", *(TEXTS[n] for n in new)]
    assert labels.frequencies == [9, 4, 0] + [0] * len(new)
    assert labels.documents == 11  # those that the model was trained on
    word_ids = {"wb": 0, "wa": 1}
    for row, document in zip(result.test, tested, strict=True):
        assert row["words"] == [word_ids.get(w, 3) for w in document.pieces[0].split()[:12]]
        assert [labels.names[i] for i in row["labels"]] == described(document)
    assert result.counts["seen_labels"] == 2
    assert result.counts["unseen_labels"] == 1 + len(new)
    assert result.skipped["training documents (a trained model is scored)"]["count"] == 40


@pytest.mark.parametrize("size", [0.25, 15])
def test_known_draws_the_test_documents_of_training(run, size):
    documents = make_documents(splits=("",))
    settings = replace(SETTINGS, test_size=size)
    trained = run(documents, settings=settings)
    scored = run(documents, settings=settings, trained=trained.task)
    assert ids(scored.test) == ids(trained.test)
    assert len(ids(scored.test)) == 15


@pytest.mark.parametrize("num_proc", [1, 2])
def test_known_with_new_words(run, num_proc):
    """Words of labels that are new to the model, not of its own labels or of documents alone."""
    documents = [
        Document("", "0", ["zorb wa other odd zorb. text"], ["label0", "label1"], "test"),
        Document("", "1", ["named flump"], ["label2"], "test"),
    ]
    texts = {"label0": "odd", "label1": "a zorb", "label2": "named", "label4": "flump"}
    without = run(documents, texts, trained=TRAINED, num_proc=num_proc)
    assert [row["words"] for row in without.test] == [[3, 1, 2, 3, 3, 3, 3], [3, 3]]
    assert without.task.tokenizer == TRAINED.tokenizer
    result = run(documents, texts, trained=TRAINED, num_proc=num_proc, new_words=True)
    assert [row["words"] for row in result.test] == [[6, 1, 2, 3, 6, 3, 3], [7, 3]]
    assert result.task.tokenizer.further == ("labelNUM", "a", "zorb", "named")
    assert result.task.tokenizer.vocabulary == TRAINED.tokenizer.vocabulary
    assert result.task.labels == without.task.labels
    assert result.counts == without.counts


def test_the_collector_leaves_out_what_was_there_before(run):
    frozen = []

    def documents():
        for document in DOCUMENTS:
            frozen.append(gc.get_freeze_count())
            yield document

    run(documents())
    assert min(frozen) > 0
    assert gc.get_freeze_count() == 0
