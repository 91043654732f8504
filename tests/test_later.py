"""Learning goes on: new documents alone, labels that change, and what the model still knows."""

import json
import shutil

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import Ridge as Oracle

import gile_lightning
from gile_lightning import evaluate, fit, predict, prepare
from gile_lightning.data.known import KnownDocuments
from gile_lightning.training.checkpoint import STATE, read_checkpoint
from gile_testing import runs

WORDS = {
    "Cats": "purr whiskers",
    "Dogs": "bark leash",
    "Newts": "pond gills",
    "Eels": "river slime",
    "Ants": "nest queen",
}
OLD, NEW = ["Cats", "Dogs", "Newts"], ["Dogs", "Eels", "Ants"]


def documents(names, start, splits="train train train train train train validation test"):
    for i, name in enumerate(names):
        for n, split in enumerate(splits.split()):
            number = start + 10 * i + n
            text = f"animal {number} with {WORDS[name]} seen"
            yield {"id": str(number), "text": text, "labels": [name], "split": split}


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def described(path, renamed=None):
    labels = [
        {
            "name": (renamed or {}).get(name, name),
            "description": f"animal {text}",
            "uri": f"urn:{i}",
        }
        for i, (name, text) in enumerate(WORDS.items())
    ]
    return written(path, labels)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("later")


@pytest.fixture(scope="module")
def first(folder):
    (folder / "mine.yaml").write_text(
        "base: best_scratch.yaml\n"
        "data:\n  class_path: gile_lightning.data.Corpus\n  init_args:\n    split_year: null\n"
        "    columns: {id: id, text: text, labels: labels, split: split}\n"
    )
    sizes = {
        "embedding.dim": 8,
        "output.joint_dim": 4,
        "ridge.word_features": 16,
        "ridge.ngram_features": 16,
    }
    keys = {
        "data.path": written(folder / "old.jsonl", documents(OLD, 0)),
        "data.labels": described(folder / "labels.jsonl"),
        "data.cache_dir": folder / "cache",
        "data.label_documents": 0,  # the oracle of the regression has the documents alone
        "trainer.max_epochs": 2,
        **{f"model.{key}": value for key, value in sizes.items()},
    }
    output = folder / "first"
    done = runs.call(fit.main, *runs.small(folder / "mine.yaml", output, keys, ()))
    assert done.status is None, done.errors
    return output


def further(folder, first, output, *more):
    new = written(folder / "new.jsonl", documents(NEW, 100))
    given = ("--start_from", first, "--data.path", new, "--output", output)
    options = (*("--trainer.accelerator", "cpu", "--trainer.logger", "false"), *given)
    done = runs.call(fit.main, *options, "--trainer.max_epochs", 1, *more)
    assert done.status is None, done.errors
    return done


def stored_labels(run):
    return read_checkpoint(run)[STATE]["tasks"]["english"]["labels"]


def residual_of(run, name):
    """The vector of a label's residual."""
    model = gile_lightning.load(run)
    residual = model.system.network("english").label_residual
    return residual.vectors[model.task.labels.names.index(name)].detach()


def test_new_documents_alone_keep_what_was_known(folder, first):
    renamed = described(folder / "renamed.jsonl", {"Newts": "Salamanders"})
    output = folder / "second"
    done = further(folder, first, output, "--data.labels", renamed, "--data.replay", 0.5)
    assert "labels (english): 2 as before, 1 renamed, 2 new (Ants, Eels), 0 gone" in done.printed
    assert "replayed of the earlier run: train 9  validation 2" in done.printed
    labels = stored_labels(output)
    found = dict(zip(labels["names"], labels["frequencies"], strict=True))
    # six each of the new documents, and those of the first run, which are counted once
    assert found == {"Dogs": 12, "Ants": 6, "Cats": 6, "Eels": 6, "Salamanders": 6}
    assert labels["documents"] == 36

    model = gile_lightning.load(output)
    network = model.system.network("english")
    train = [*documents(OLD, 0), *documents(NEW, 100)]
    train = [document for document in train if document["split"] == "train"]
    texts = model._encode([document["text"] for document in train])
    with torch.no_grad():
        features = network.ridge_features(texts, network.encode_documents(texts))
    names = {"Newts": "Salamanders"}
    targets = np.array(
        [
            [float(names.get(name, name) == labels["names"][i]) for i in range(5)]
            for document in train
            for name in document["labels"]
        ]
    )
    oracle = Oracle(alpha=network.ridge.penalty, fit_intercept=False)
    oracle.fit(F.normalize(features).double().numpy(), targets)
    np.testing.assert_allclose(network.ridge.coefficients.numpy(), oracle.coef_, atol=1e-5)

    again = folder / "third"  # on documents that it knows, all of which have a further label
    known = written(
        folder / "known.jsonl",
        [document | {"labels": [*document["labels"], "Ants"]} for document in documents(OLD, 0)],
    )
    keys = ("--data.path", known)
    done = further(folder, first, again, *keys)
    assert "labels (english): 3 as before, 1 new (Ants), 0 gone" in done.printed
    labels = stored_labels(again)
    found = dict(zip(labels["names"], labels["frequencies"], strict=True))
    assert found == {"Ants": 18, "Cats": 6, "Dogs": 6, "Newts": 6}
    assert labels["documents"] == 18
    coefficients = gile_lightning.load(again).system.network("english").ridge.coefficients
    oracle.fit(F.normalize(features).double().numpy()[:18], np.ones((18, 1)))
    np.testing.assert_allclose(coefficients[:1].numpy(), np.atleast_2d(oracle.coef_), atol=1e-5)


def test_prepare_encodes_for_a_run_that_goes_on(folder, first):
    new = written(folder / "prepared.jsonl", documents(NEW, 300))
    keys = ("--data.path", new, "--data.replay", 0.5, "--trainer.logger", "false")
    done = runs.call(prepare.main, "--start_from", first, *keys)
    assert "replayed of the earlier run: train 9  validation 2" in done.printed
    cache = {*(folder / "cache").iterdir()}
    output = folder / "of_prepared"
    further(folder, first, output, *keys[:4])
    assert {*(folder / "cache").iterdir()} == cache
    # the remedy of documents that are gone, for a run that went on itself
    (gone,) = (line.split()[1] for line in done.printed.splitlines() if "encoded: " in line)
    shutil.rmtree(gone)
    options = ("--start_from", output, "--data.path", folder / "new.jsonl", "--data.replay", 0.5)
    options += ("--trainer.logger", "false")
    missing = runs.call(prepare.main, *options)
    assert f"{gone}: the encoded documents of the earlier run" in missing.errors
    again = ("--config", output / "config.yaml", "--trainer.logger", "false")
    assert runs.call(prepare.main, *again).status is None
    done = runs.call(prepare.main, *options)
    assert "replayed of the earlier run: train 14  validation 2" in done.printed

    done = runs.call(prepare.main, "--start_from", folder / "nosuch", *keys)
    assert "nosuch: no such file or folder (--start_from)" in done.errors
    named = folder / "named.yaml"
    named.write_text(f"start_from: {folder / 'nosuch'}\n")
    done = runs.call(prepare.main, "--config", named, *keys)
    assert "nosuch: no such file or folder (--start_from)" in done.errors
    both = ("--config", folder / "mine.yaml", "--config", named)
    done = runs.call(prepare.main, *both, "--start_from", "null", *keys)
    assert "data.replay needs the run whose documents it draws" in done.errors
    done = runs.call(prepare.main, "--config", folder / "mine.yaml", *keys)
    assert "data.replay needs the run whose documents it draws: give --start_from" in done.errors


def test_label_changes_of_a_run_are_not_those_of_other_documents(folder, first):
    changes = folder / "split.csv"
    changes.write_text("old,new\nCats,House Cats|Lions\n")
    output = folder / "split"
    further(folder, first, output, "--data.label_changes", changes)
    aside = written(folder / "aside.jsonl", documents(["Cats"], 500, "test " * 3))
    (folder / "aside.yaml").write_text(f"data:\n  init_args:\n    path: {aside}\n")
    paths = {kind: (f"--{kind}", aside) for kind in ("data.path", "data.init_args.path")}
    paths["config"] = ("--config", folder / "aside.yaml")
    for kind, path in paths.items():
        done = runs.call(evaluate.main, "--checkpoint", output, *path)
        assert done.result["test.unseen.documents"] == 3, (kind, done.errors)
        told = f"data.label_changes of the run ({changes}) is not applied to these documents"
        assert told in done.printed
    done = runs.call(evaluate.main, "--checkpoint", output, *path, "--data.label_changes", changes)
    assert done.result["test.seen.documents"] == 3, done.errors
    assert told not in done.printed


def test_labels_change_in_the_model_and_in_the_corpus(folder, first):
    changes = folder / "changes.csv"
    changes.write_text("old,new\nCats,Felines\nDogs,Pets\nEels,Pets\nNewts,\n")
    more = ("--data.label_changes", changes, "--trainer.max_epochs", 3)
    done = further(folder, first, folder / "changed", *more)
    # Eels are no label of the first run, whose Dogs become Pets
    assert "labels (english): 0 as before, 2 renamed, 1 new (Ants), 1 gone" in done.printed
    labels = stored_labels(folder / "changed")
    found = dict(zip(labels["names"], labels["frequencies"], strict=True))
    assert found == {"Pets": 18, "Ants": 6, "Felines": 6}
    # no new document has Felines, the Cats of before: what training knows of them alone stays
    cats, felines, pets, dogs = (
        residual_of(run, name)
        for run, name in (
            *((first, "Cats"), (folder / "changed", "Felines")),
            *((folder / "changed", "Pets"), (first, "Dogs")),
        )
    )
    assert cats.any()
    assert felines.equal(cats)
    assert not pets.equal(dogs)

    changes.write_text("old,new\nCats,Felines\nNewts,\n")
    text, answers = folder / "text.txt", []
    text.write_text("animal with whiskers\n")
    for more in ((), ("--label_changes", changes)):
        answer = folder / f"answer{len(more)}.jsonl"
        options = ("--input", text, "--output", answer, *more)
        done = runs.call(predict.main, "--checkpoint", first, *options)
        assert done.status is None, done.errors
        answers.append({x["name"]: x for x in json.loads(answer.read_text())["labels"]})
    before, after = answers
    assert after.keys() == {"Felines", "Dogs"}
    assert before["Cats"]["uri"] == after["Felines"]["uri"] == "urn:0"
    assert after["Dogs"]["score"] == pytest.approx(before["Dogs"]["score"])
    changes.write_text("old,new\nCat,Felines\n")
    done = runs.call(predict.main, "--checkpoint", first, "--label_changes", changes)
    assert "changes.csv:2: there is no label 'Cat'; did you mean 'Cats'?" in done.errors


@pytest.mark.parametrize("how", ["predict", "changes", "uri", "not kept"])
def test_words_of_new_names_are_told_apart(folder, first, how):
    """No document of the first run has the word: matchers compare it with the label's name."""
    changes, text = folder / "moggies.csv", folder / "moggies.txt"
    changes.write_text("old,new\nCats,Moggies\n")
    text.write_text("animal moggies\nanimal qwertz\n")
    run, more = first, ("--label_changes", changes)
    if how != "predict":
        run, more = folder / f"moggies {how}", ()
        given = ("--data.label_changes", changes)
        if how == "uri":
            given = ("--data.labels", described(folder / "moggies.jsonl", {"Cats": "Moggies"}))
        if how == "not kept":
            changes.write_text("old,new\nAnts,Moggies\n")
            given = (*given, "--keep", "false")
        further(folder, first, run, *given)
    output = folder / f"moggies {how}.jsonl"
    given = ("--input", text, "--output", output, "--threshold", 0)
    done = runs.call(predict.main, "--checkpoint", run, *given, *more)
    assert done.status is None, done.errors
    named, other = (
        {x["name"]: x["score"] for x in json.loads(line)["labels"]}
        for line in output.read_text().splitlines()
    )
    assert named["Moggies"] > other["Moggies"] + 0.01
    assert max(named[x] - other[x] for x in named if x != "Moggies") < 0.01


def test_what_is_refused_or_left_behind(folder, first):
    keys = {"data.path": folder / "old.jsonl", "data.replay": 0.5}
    done = runs.call(fit.main, *runs.small(folder / "mine.yaml", folder / "none", keys, ()))
    assert "data.replay needs the run whose documents it draws: give --start_from" in done.errors
    done = further(folder, first, folder / "others", "--keep", "false")
    labels = stored_labels(folder / "others")
    assert dict(zip(labels["names"], labels["frequencies"], strict=True)) == dict.fromkeys(
        sorted(NEW), 6
    )


def test_no_document_that_trained_the_model_tests_it(folder, first):
    """Where the corpus leaves the splits open; the first run trains on half of its documents."""

    def known(run):
        stored = KnownDocuments.of(read_checkpoint(run)[STATE]["extra"])["english"].hashes
        return {part: {*hashes.tolist()} for part, hashes in stored.items()}

    def metrics(run):
        figures = json.loads((run / "metrics.json").read_text())
        return {key: value for key, value in figures.items() if key.startswith("test.")}

    old = folder / "old.jsonl"
    more = written(folder / "more.jsonl", [*documents(OLD, 0), *documents(NEW, 100)])
    keys = {
        "data.path": old,
        "data.columns.split": "null",
        "data.test_size": 0.25,
        "data.validation_size": 0.2,
        "data.train_share": 0.5,
        "data.labels": folder / "labels.jsonl",
        "data.cache_dir": folder / "cache",
        "model.embedding.dim": 8,
        "model.output.joint_dim": 4,
        "model.ridge.word_features": 16,
        "model.ridge.ngram_features": 16,
        "trainer.max_epochs": 1,
    }
    start = folder / "start"
    done = runs.call(fit.main, *runs.small(folder / "mine.yaml", start, keys, ()))
    assert done.status is None, done.errors
    before = known(start)
    assert {split: len(own) for split, own in before.items()} == {
        "train": 7,
        "validation": 4,
        "test": 6,
        "unused": 7,
    }
    for keep, path in (("true", old), ("true", more), ("false", more)):
        run = folder / f"further_{keep}_{path.stem}"
        done = further(folder, start, run, "--data.path", path, "--keep", keep)
        told = "documents that the model knows, by their split there: "
        assert f"{told}train 7  validation 4  test 6" in done.printed
        after = known(run)
        if keep == "true" and path == old:  # no document counts twice, though half trained nothing
            first_labels, labels = stored_labels(start), stored_labels(run)
            assert labels["documents"] == first_labels["documents"] == 14
            assert labels["frequencies"] == first_labels["frequencies"]
        assert after["test"] >= before["test"]
        assert (len(after["test"]) > 6) == (path == more)
        assert not after["test"] & (before["train"] | before["validation"] | after["train"])
        assert not after["validation"] & before["train"]
        assert after.get("weights", set()) == (
            before["train"] | before["validation"] if keep == "false" else set()
        )
        scored = folder / f"scored_{run.name}"
        empty = ("--data.cache_dir", folder / f"empty_{run.name}", "--output", scored)
        done = runs.call(evaluate.main, "--checkpoint", run, *empty)
        assert done.status is None, done.errors
        assert len(metrics(run)) > 20
        assert metrics(run)["test.micro.documents"] == len(after["test"])
        assert metrics(scored) == pytest.approx(metrics(run), nan_ok=True)

    others = ("--data.path", more, "--data.test_size", 0)
    done = runs.call(evaluate.main, "--checkpoint", start, *others)
    assert done.result["test.micro.documents"] == 48 - 7 - 4
