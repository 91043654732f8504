import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import gile_lightning
from gile_lightning.common.errors import InputError
from gile_lightning.data import Corpus
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import prepared_labels
from gile_lightning.network.outputs import Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems import predictor as predictor_module
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.candidates import candidate_labels, read_candidates
from gile_lightning.systems.predictor import Predictor, find_language
from gile_testing import runs

TEXTS = ["Fibrosis of the liver in mice.", "The kidney of the rat after surgery"]
LABELS = {"Kittens": "Young cats that are kept in the house.", "Liver": "A large organ."}


@pytest.fixture(scope="module")
def predictor():
    return gile_lightning.load(runs.trained().output)


def test_prediction(predictor):
    logits = predictor.logits(TEXTS)
    names = predictor.task.labels.names
    for found, row in zip(predictor.predict(TEXTS, top_k=3), logits, strict=True):
        order = row.argsort(descending=True)[:3].tolist()
        assert [label["name"] for label in found] == [names[i] for i in order]
        log_odds = predictor.system.calibrations.apply(
            predictor.name, row[order].unsqueeze(0), training_ids(predictor.task.labels)[order]
        )
        assert [label["score"] for label in found] == log_odds.squeeze(0).sigmoid().tolist()


def names(predictions):
    return [[label["name"] for label in found] for found in predictions]


@pytest.mark.parametrize("scores", [1, 300])
def test_slabs_of_documents_change_nothing(predictor, monkeypatch, scores):
    texts = [*TEXTS, "", *TEXTS]
    whole = predictor.predict(texts, top_k=4)
    monkeypatch.setattr(predictor_module, "SCORES", scores)  # one document at a time, or two
    assert names(predictor.predict(texts, top_k=4)) == names(whole)


def test_label_vectors_are_what_documents_are_scored_against(predictor, monkeypatch):
    vectors = predictor.label_vectors()
    assert vectors.shape == (len(predictor.task.labels), runs.MODEL["output.joint_dim"])
    documents = Texts.from_flat(*predictor.task.tokenizer.documents(TEXTS))
    network = predictor.system.network(predictor.name)
    with torch.no_grad():
        joint = network.output.project_documents(network.encode_documents(documents))
        logits = network.output.unit(joint[:, None] * vectors).squeeze(-1)
    torch.testing.assert_close(predictor.logits(TEXTS), logits)
    monkeypatch.setattr(prepared_labels, "KEPT", 0)  # as if they were too many to keep
    torch.testing.assert_close(Predictor(predictor.system).label_vectors(), vectors)


def test_document_vectors_times_label_vectors_are_the_joint_space(predictor):
    bias = predictor.system.network(predictor.name).output.unit.bias
    vectors = predictor.document_vectors(TEXTS)
    products = vectors @ predictor.label_vectors().T + bias
    torch.testing.assert_close(products, predictor.logits(TEXTS))  # the model has no other part
    name = predictor.label_names[0]
    explained = predictor.explain(TEXTS[0], [name], top_k=0).labels[0].contributions
    assert explained == {"joint space": pytest.approx(float(products[0, 0].detach()), abs=1e-4)}


def test_no_document_vectors_without_a_joint_space(predictor, monkeypatch):
    network = predictor.system.network(predictor.name)
    monkeypatch.setitem(network._modules, "output", Linear(8, 8, 3, 0))
    with pytest.raises(InputError, match="no joint space"):
        predictor.document_vectors(TEXTS)


def test_number_of_labels(predictor):
    assert [len(found) for found in predictor.predict(["", " \n", "word"])] == [0, 0, 5]
    assert predictor.predict([]) == []
    (found,) = predictor.predict(TEXTS[:1], top_k=None)
    assert len(found) == len(predictor.task.labels)
    limit = found[9]["score"]
    (above,) = predictor.predict(TEXTS[:1], top_k=None, threshold=limit)
    assert above == [label for label in found if label["score"] > limit]


@pytest.mark.parametrize("form", ["mapping", "records", "path", "name of a file"])
def test_new_labels(predictor, form, tmp_path):
    records = [{"name": name, "description": text} for name, text in LABELS.items()]
    path = tmp_path / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, records)))
    forms = {"mapping": LABELS, "records": records, "path": path, "name of a file": str(path)}
    own = predictor.predict(TEXTS)
    expected = predictor.predict(TEXTS, LABELS)
    assert predictor.predict(TEXTS, forms[form]) == expected
    assert [{label["name"] for label in found} for found in expected] == [set(LABELS)] * 2
    assert predictor.predict(TEXTS) == own  # the model's own labels again


def test_labels_of_one_call_leave_those_that_were_chosen(predictor):
    own, other = predictor.predict(TEXTS), {"Otter": "A mammal that swims in rivers."}
    predictor.set_labels(LABELS)
    chosen = predictor.predict(TEXTS)
    assert names(predictor.predict(TEXTS, other)) == [["Otter"]] * 2
    assert predictor.predict(TEXTS) == chosen
    with pytest.raises(InputError, match="top_k is 0"):
        predictor.predict(TEXTS, other, top_k=0)
    assert predictor.predict(TEXTS) == chosen
    predictor.set_labels(None)
    assert predictor.predict(TEXTS) == own


def test_parents_of_candidates(predictor, monkeypatch):
    own, prepared = predictor.task.labels, []
    with_parents = next(i for i, above in enumerate(own.parents) if above)
    without = own.parents.index([])
    monkeypatch.setattr(predictor, "_prepare", prepared.append)
    given = [
        {"name": own.names[with_parents], "description": "as before"},
        {"name": "new", "description": "new", "parents": ["anything"]},
        {"name": own.names[without], "description": "as before", "parents": ["other"]},
    ]
    predictor.set_labels(given)
    predictor.set_labels(given, complete=False)
    assert [labels.parents for labels in prepared] == [
        [own.parents[with_parents], ["anything"], ["other"]],
        [[], ["anything"], ["other"]],
    ]


def test_texts_of_candidates_have_the_parents_that_are_given(tmp_path, monkeypatch):
    own = LabelSet(
        ["cat", "mammal", "animal"], [*"abc"], [3, 2, 1], parents=[["mammal"], ["animal"], []]
    )
    recipe, skipped = TextRecipe(parents=1), Skipped()
    labels = [{"name": "cat", "description": "purrs"}, {"name": "mammal", "description": "milk"}]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, labels)))
    monkeypatch.setenv("HOME", str(tmp_path))
    given = read_candidates("~/labels.jsonl", False, None, skipped)
    found = candidate_labels(given, recipe, own, skipped)
    assert found.texts == ["purrs mammal milk", "milk"]
    assert found.parents == [["mammal"], ["animal"]]
    reason = "parents of labels, which the model knows and which are not described here"
    assert skipped.counts == {reason: 1}
    assert skipped.first[reason].endswith("labels.jsonl:2")


def test_a_parent_that_was_renamed(predictor, monkeypatch):
    own, prepared = predictor.task.labels, []
    child = next(i for i, above in enumerate(own.parents) if set(above) & set(own.names))
    parent = next(name for name in own.parents[child] if name in own.ids)
    monkeypatch.setattr(predictor, "_prepare", prepared.append)
    uris = list(own.uris)
    uris[own.ids[parent]] = "urn:parent"
    monkeypatch.setattr(predictor, "task", replace(predictor.task, labels=replace(own, uris=uris)))
    predictor.set_labels(
        [
            {"name": "another name", "description": "above", "uri": "urn:parent"},
            {"name": own.names[child], "description": "below"},
        ]
    )
    expected = ["another name" if name == parent else name for name in own.parents[child]]
    assert prepared[0].parents[1] == expected


def test_uris_are_given_out(predictor, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text(
        "uri,label_en,label_de,description\n"
        "urn:kittens,Kittens,Kätzchen,Young cats that are kept in the house.\n"
        ",Liver,Leber,A large organ.\nurn:x,,X,None.\n"
    )
    predictor.set_labels(table, language="en")
    given = {label["name"]: label.get("uri") for label in predictor.predict(TEXTS[:1])[0]}
    assert given == {"Kittens": "urn:kittens", "Liver": None}
    assert predictor.left_out.counts == {"labels without a name in 'label_en'": 1}
    predictor.set_labels(None)
    assert not any("uri" in label for label in predictor.predict(TEXTS[:1])[0])


def test_headings_without_a_note_are_counted(predictor, tmp_path):
    """In a vocabulary as it was published; MeSH has a thousand."""
    records = ["MH = Liver\nMS = A large organ.", "MH = Female", "MH = Cats\nMS = Young cats."]
    path = tmp_path / "d2014.bin"
    path.write_text("".join(f"*NEWRECORD\n{record}\n\n" for record in records))
    predictor.set_labels(path)
    assert predictor.label_names == ["Liver", "Cats"]
    assert len(predictor.label_uris) == 2
    assert predictor.left_out.counts == {"labels without a description": 1}
    assert predictor.left_out.first == {"labels without a description": f"{path}:5"}
    given = predictor.logits(TEXTS)
    predictor.set_labels({"Liver": "A large organ.", "Cats": "Young cats."})
    torch.testing.assert_close(given, predictor.logits(TEXTS))
    path.write_text("*NEWRECORD\nMH = Female\n")
    with pytest.raises(InputError, match=r"d2014.bin: no label has a description to score it by"):
        predictor.set_labels(path)
    predictor.set_labels(None)


def test_a_description_counts_not_a_name(predictor):
    labels = predictor.task.labels
    name, described = labels.names[0], labels.texts[0]
    own = predictor.logits(TEXTS)[:, :1]
    predictor.set_labels({"Other": described})
    renamed = predictor.logits(TEXTS)
    predictor.set_labels({name: described})
    (found,) = predictor.predict(TEXTS[:1])
    predictor.set_labels(None)
    torch.testing.assert_close(renamed, own)
    (first,) = (x for x in predictor.predict(TEXTS[:1], top_k=None)[0] if x["name"] == name)
    assert found == [{"name": name, "score": pytest.approx(first["score"], rel=1e-5)}]


@pytest.fixture
def trained_with(predictor, monkeypatch):
    """Lets the model have been trained with other options of the data."""

    def trained_with(options):
        recipe = Corpus("", **{"labels": "labels.jsonl", **options}).recipe()
        monkeypatch.setattr(predictor, "task", replace(predictor.task, recipe=recipe))

    return trained_with


@pytest.mark.parametrize(
    "options",
    [
        {"undescribed_labels": "name"},
        {"undescribed_labels": "name", "label_text": "name_description"},
        {"label_text": "name"},
        {"labels": None},
    ],
)
def test_a_name_describes_where_it_did_in_training(predictor, trained_with, options):
    expected = predictor.predict(TEXTS, {"Liver": "liver", "Mice": "mice"})
    trained_with(options)
    assert predictor.predict(TEXTS, [{"name": "Liver"}, {"name": "Mice"}]) == expected


RECORDS = [
    {"name": "Cats", "description": "House animals.", "synonyms": ["Felines", "Mice"]},
    {"name": "Spleen", "description": "A large organ.", "parents": ["Cats"]},
]


def label_sets(predictor, monkeypatch, *chosen):
    """Return the label sets that the system prepares for what is given as labels."""
    prepared = []
    with monkeypatch.context() as patch:
        patch.setattr(predictor.system, "prepare_labels", lambda _, labels: prepared.append(labels))
        for labels in chosen:
            predictor.set_labels(labels)
    predictor.set_labels(None)
    return prepared


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        ({}, ["House animals.", "A large organ."]),
        (
            {"label_synonyms": True, "label_parents": 2},
            ["House animals. Felines Mice", "A large organ. Cats House animals."],
        ),
        ({"label_text": "name_description"}, ["Cats House animals.", "Spleen A large organ."]),
        ({"label_text": "name", "label_synonyms": True}, ["Cats Felines Mice", "Spleen"]),
    ],
)
def test_label_texts_as_in_training(predictor, trained_with, monkeypatch, options, texts):
    trained_with(options)
    (labels,) = label_sets(predictor, monkeypatch, RECORDS)
    assert labels == LabelSet(["Cats", "Spleen"], texts, [0, 0])
    assert labels.synonyms == [["Felines", "Mice"], []]


def test_own_labels_keep_their_synonyms(predictor, monkeypatch):
    own = predictor.task.labels
    name = next(name for name, more in zip(own.names, own.synonyms, strict=True) if more)
    record = {"name": name, "description": "x"}
    found = label_sets(predictor, monkeypatch, [record], [record | {"synonyms": ["Other"]}])
    assert [x.synonyms for x in found] == [[own.synonyms[own.ids[name]]], [["Other"]]]


def test_own_labels_without_their_synonyms(predictor):
    own = predictor.task.labels
    name = next(name for name, more in zip(own.names, own.synonyms, strict=True) if more)
    prepared = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictor.system, "prepare_labels", lambda _, labels: prepared.append(labels))
        predictor.set_labels([{"name": name, "description": "x"}], complete=False)
    predictor.set_labels(None)
    assert prepared[0].synonyms == [[]]


def test_stream_takes_texts_one_batch_at_a_time(predictor):
    taken = []
    texts = (taken.append(i) or text for i, text in enumerate(TEXTS * 3))
    stream = predictor.stream(texts, batch_size=2)
    next(stream)
    assert taken == [0, 1]
    assert len(list(stream)) == 5


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ({}, "no label given"),
        ([{"description": "x"}], "label 0: a label needs a name"),
        (
            [{"name": x, "description": "d", "uri": "urn:1"} for x in "ab"],
            "label 1: the label 'b' has the URI of 'a' at label 0; URIs must be unique",
        ),
        (["a", "b"], "label 0 is 'a': give descriptions by name, or records"),
        ({"a": "x", "b": " "}, "label 1: the label 'b' has no description"),
        ([{"name": "a", "description": "x", "synonyms": 5}], "label 0: 'synonyms' is not a list"),
        ([{"name": "a", "description": "x"}] * 2, "label 1: the label 'a' is there .* label 0"),
        ("/no/where.jsonl", "/no/where.jsonl: no such file"),
        (5, "labels: 5; give names with descriptions, or a file"),
        ({"a": "..."}, "top_k is 0"),
    ],
)
def test_bad_labels(predictor, labels, error):
    own = predictor.predict(TEXTS)
    with pytest.raises(InputError, match=error):
        predictor.predict(TEXTS, labels, top_k=0 if error == "top_k is 0" else 5)
    assert predictor.predict(TEXTS) == own  # its own labels again


def test_what_cannot_be_predicted(predictor):
    with pytest.raises(InputError, match="a list of texts, not one text"):
        predictor.predict("Liver")
    for use in (predictor.logits, predictor.document_vectors, lambda x: [*predictor.stream(x)]):
        with pytest.raises(InputError, match="a list of texts, not one text"):
            use("Liver")
    for text in (7, ["Liver", None], [["Liver"]]):
        with pytest.raises(InputError, match="a text is a string or a list of strings, not"):
            predictor.predict([text])
    assert predictor.predict(TEXTS, top_k=np.int64(1)) == predictor.predict(TEXTS, top_k=1)
    for top_k in ("5", 1.5):
        with pytest.raises(InputError, match=f"top_k is {top_k!r}; give a whole number, or None"):
            predictor.predict(TEXTS, top_k=top_k)
    with pytest.raises(InputError, match="the model can score no label '5'"):
        predictor.explain(TEXTS[0], labels=[5])
    for threshold in (1.5, 2):
        with pytest.raises(InputError, match="no probability is above it"):
            predictor.predict(TEXTS, threshold=threshold)
    with pytest.raises(InputError, match="threshold is 'label'; give a number, tuned or labels"):
        predictor.predict(TEXTS, threshold="label")
    other = Predictor(two_languages(output=Linear), language="english")
    with pytest.raises(InputError, match="Linear scores only the labels it was trained on"):
        other.predict(TEXTS, LABELS)
    with pytest.raises(InputError, match="the checkpoint has no tuned threshold; give a number"):
        other.predict(TEXTS, threshold="tuned")


def test_a_checkpoint_is_all_it_takes(predictor, tmp_path, monkeypatch):
    """Without the run folder and the corpus, at another place."""
    expected = predictor.predict(TEXTS, top_k=None)
    new = predictor.predict(TEXTS, LABELS)
    run = runs.trained()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(run.best, tmp_path / "elsewhere/model.ckpt")
    monkeypatch.chdir(tmp_path / "elsewhere")
    away = runs.folder().rename(f"{runs.folder()}-away")
    try:
        moved = gile_lightning.load("model.ckpt")
    finally:
        away.rename(runs.folder())
    assert moved.predict(TEXTS, top_k=None) == expected
    assert moved.predict(TEXTS, LABELS) == new


# --- words that are new ---


@pytest.fixture(scope="module")
def matching():
    return gile_lightning.load(runs.trained(*runs.MATCH).output)


def test_a_new_label_named_by_an_invented_word(matching):
    """It is the best of all labels for a text that has the word, and only for that."""
    assert "zorblax" not in matching.task.tokenizer.vocabulary
    own = matching.task.labels
    records = [
        {"name": name, "description": text, "synonyms": synonyms}
        for name, text, synonyms in zip(own.names, own.texts, own.synonyms, strict=True)
    ]
    texts = [*TEXTS, "Zorblax in the rat after surgery"]
    before = matching.predict(texts, top_k=None)
    matching.set_labels([*records, {"name": "Zorblax", "description": "The zorblax."}])
    after = matching.predict(texts, top_k=None)
    matching.set_labels(None)
    assert [found[0]["name"] == "Zorblax" for found in after] == [False, False, True]
    for old, new in zip(before[:2], after[:2], strict=True):  # the others are scored as they were
        scores = {label["name"]: label["score"] for label in new}
        del scores["Zorblax"]
        assert scores == pytest.approx({x["name"]: x["score"] for x in old}, rel=1e-4)
    assert matching.predict(texts, top_k=None) == before  # with the vocabulary alone


# --- several languages ---


def two_languages(**parts):
    model = NeuralSystem(**parts)
    tasks = {
        name: Task(Tokenizer([*words, "UNK"]), LabelSet([f"{name} label"], [words[0]], [1]))
        for name, words in {"english": ["liver"], "german": ["leber", "niere"]}.items()
    }
    torch.manual_seed(0)
    model.build(tasks)
    return model


def test_a_language_must_be_chosen():
    with pytest.raises(InputError, match=r"several languages \(english, german\): choose one"):
        Predictor(two_languages())
    with pytest.raises(InputError, match="no 'french'; its languages are english, german"):
        Predictor(two_languages(), language="french")
    for name in ("German", "de"):  # the texts of either need not be split into sentences
        german = Predictor(two_languages(), language=name)
        assert [label["name"] for label in german.predict(["niere"])[0]] == ["german label"]


def test_a_name_goes_before_a_code():
    tasks = {
        name: Task(Tokenizer(["UNK"]), LabelSet([], [], [])) for name in ("german law", "german")
    }
    tasks["german law"] = replace(tasks["german law"], tokenizer=Tokenizer(["UNK"], sentences="de"))
    for given, found in {
        "German": "german",
        "de": "german law",
        "german law": "german law",
    }.items():
        assert find_language(SimpleNamespace(tasks=tasks), given) == found


def test_unknown_device():
    with pytest.raises(InputError, match="device 'gpu7' cannot be used"):
        Predictor(two_languages(), "gpu7", "german")


def test_labels_have_thresholds_of_their_own(predictor):
    calibrations, name = predictor.system.calibrations, predictor.name
    ids = training_ids(predictor.task.labels)
    limits = calibrations.limits(name, predictor.tuned_threshold, ids).tolist()
    limits = dict(zip(predictor.label_names, limits, strict=True))
    all_labels = predictor.predict(TEXTS, top_k=None)
    chosen = predictor.predict(TEXTS, top_k=None, threshold="labels")
    expected = [[x for x in found if x["score"] > limits[x["name"]]] for found in all_labels]
    assert chosen == expected
    assert any(chosen)
