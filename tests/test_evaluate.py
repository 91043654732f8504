import json
import re
import shutil

import pytest
import torch

import gile_lightning
from gile_lightning import evaluate
from gile_lightning.builtin import write_bioasq
from gile_lightning.commands.run_folder import read_documents, read_metrics
from gile_lightning.data import Corpus
from gile_testing import runs

NEW = "Kitten Therapy"
NOTE = "Treatment of a disease of the liver in children by keeping a small animal."


@pytest.fixture(scope="module")
def run():
    return runs.trained()


def write(folder, articles) -> None:
    (path,) = folder.glob("allMeSH*.json")
    lines = ",\n".join(json.dumps(article) for article in articles)
    path.write_text('{"articles":[\n' + lines + "\n]}\n")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another BioASQ folder, with a heading more, which some of its articles have."""
    folder = tmp_path_factory.mktemp("other")
    write_bioasq(folder, 120, seed=5)
    found = runs.articles(folder)
    for article in found[::3]:
        article["meshMajor"].append(NEW)
    write(folder, found)
    (descriptors,) = folder.glob("d*.bin")
    record = f"*NEWRECORD\nRECTYPE = D\nMH = {NEW}\nMS = {NOTE}\nUI = D999999\n\n"
    descriptors.write_text(record + descriptors.read_text())
    return folder


def sections(page) -> dict[str, str]:
    """Return the sections of a page by their headings."""
    return dict(re.findall(r"<h2>(.*?)</h2>(.*?)</section>", page.read_text(), re.S))


def described(folder) -> dict[str, dict]:
    """Return the headings with a scope note, and their entry terms, by name."""
    (descriptors,) = folder.glob("d*.bin")
    notes = {}
    for record in descriptors.read_text().split("*NEWRECORD"):
        lines = [line.split(" = ", 1) for line in record.splitlines() if " = " in line]
        fields = dict(lines)
        if fields.get("MS"):
            terms = [value for key, value in lines if key == "ENTRY"]
            name = fields["MH"]
            notes[name] = {"name": name, "description": fields["MS"], "synonyms": terms}
    return notes


def expected(run, folder, notes) -> dict[str, float]:
    """Score the articles of a folder with scikit-learn, labels beyond the model's by ``notes``."""
    predictor = gile_lightning.load(run.best)
    names, seen = predictor.task.labels.names, predictor.task.labels.seen
    usable = notes.keys() | set(names)
    tested = [
        ([article["title"], article["abstractText"]], usable & {*article["meshMajor"]})
        for article in runs.articles(folder)
        if int(article["year"]) >= 2005 and usable & {*article["meshMajor"]}
    ]
    new = sorted(set().union(*(labels for _, labels in tested)) - set(names))
    known = predictor.task.labels
    own = [
        {"name": name, "description": text, "synonyms": terms}
        for name, text, terms in zip(names, known.texts, known.synonyms, strict=True)
    ]
    predictor.set_labels([*own, *(notes[name] for name in new)])
    logits = predictor.logits([text for text, _ in tested]).numpy()
    targets = runs.positives([sorted(labels) for _, labels in tested], [*names, *new])
    sets = {"seen": slice(seen), "unseen": slice(seen, None), "all": slice(None)}
    return {
        f"test.{name}.{key}": score
        for name, part in sets.items()
        for key, score in runs.ranking_scores(logits[:, part], targets[:, part]).items()
    }


@pytest.mark.parametrize("anew", [False, True], ids=["from the shards", "encoded anew"])
def test_the_numbers_of_fit(run, anew, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options = ["--data.cache_dir", "cache", "--output", "deep/scores"] if anew else []
    if not anew:  # the shards of the training are there
        monkeypatch.setattr(Corpus, "documents", None)
    metrics = runs.call(evaluate.main, "--checkpoint", run.output, *options).result
    course = {"epochs", "best_epoch", *runs.TIMED}
    course |= {key for key in run.metrics if key.startswith("val.")}
    assert metrics == {key: value for key, value in run.metrics.items() if key not in course}
    assert [path.name for path in tmp_path.rglob("*.json") if "cache" not in path.parts] == (
        ["metrics.json"] if anew else []
    )
    assert not anew or read_metrics(tmp_path / "deep/scores") == metrics
    if anew:
        of_fit, here = (read_documents(x) for x in (run.output, tmp_path / "deep/scores"))
        torch.testing.assert_close(here, of_fit)
        of_fit, here = (sections(x / "report.html") for x in (run.output, tmp_path / "deep/scores"))
        assert of_fit.keys() - here.keys() == {"Curves"}
        same = ("Results", "Calibration", "Confused labels", "Examples", "Explained")
        assert {key: here[key] for key in same} == {key: of_fit[key] for key in same}
    assert anew or not list(tmp_path.iterdir())  # nothing is left behind


@pytest.mark.parametrize("parts", [(), runs.MATCHING], ids=["plain", "matchers and memory"])
def test_another_corpus(parts, other):
    run = runs.trained(*parts)
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--data.path", other)
    scores = expected(run, other, described(other))
    assert scores["test.unseen.documents"] > 10
    for key, score in scores.items():
        assert done.result[key] == pytest.approx(score, abs=1e-6), key
    assert "built-in corpus" not in done.printed
    known = gile_lightning.load(run.best).task.labels
    counts = re.search(r"(\d+) labels seen in training, (\d+) unseen", done.printed)
    assert int(counts[1]) == known.seen
    assert int(counts[2]) > len(known) - known.seen


@pytest.fixture(scope="module")
def with_new_word(other):
    """The same with a word in the new heading's scope note and articles that no other text has."""
    folder = other.parent / "with_new_word"
    shutil.copytree(other, folder)
    (path,) = folder.glob("d*.bin")
    lines = path.read_text().replace(NOTE, f"{NOTE} Zorblax.").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "ENTRY = " not in line))
    found = runs.articles(folder)
    for article in found:
        if NEW in article["meshMajor"]:
            article["title"] = f"Zorblax. {article['title']}"
    write(folder, found)
    return folder


def test_new_words_of_labels(with_new_word):
    """Where the model compares words, those of new labels are told apart as `Predictor` does."""
    run = runs.trained(*runs.MATCH)
    done = runs.call(evaluate.main, "--checkpoint", run.output, "--data.path", with_new_word)
    assert done.status is None, done.errors
    scores = expected(run, with_new_word, described(with_new_word))
    for key, score in scores.items():
        assert done.result[key] == pytest.approx(score, abs=1e-6), key


def test_documents_alone(run, other, tmp_path):
    (path,) = other.glob("allMeSH*.json")
    shutil.copy(path, tmp_path / path.name)
    metrics = evaluate.main(["--checkpoint", str(run.output), "--data.path", str(tmp_path)])
    for key, score in expected(run, other, {}).items():
        assert metrics[key] == pytest.approx(score, abs=1e-6), key


# --- errors ---


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ((), "--checkpoint RUN is needed: a checkpoint file or a run folder"),
        (("--checkpoint",), "--checkpoint RUN is needed: a checkpoint file or a run folder"),
        (("--checkpoint", "/no/where"), "/no/where: no such file or folder (--checkpoint)"),
        (("--data.path", "/no/where"), "/no/where: no such folder (--data.path)"),
        (("--data.language", "german"), "the model knows english, not german: set --data.language"),
        (("--data.batch_sise", "3"), "did you mean 'batch_size'?"),
        (("--model.output.joint_dim", "7"), "the model is not that of the checkpoint"),
        (("--output", "RUN"), "holds a run already"),
    ],
)
def test_mistakes(run, options, error):
    options = [str(run.output) if option == "RUN" else option for option in options]
    if options and not options[0].startswith("--checkpoint"):
        options = ["--checkpoint", run.output, *options]
    done = runs.call(evaluate.main, *options)
    assert done.status == 2
    assert done.errors.startswith("error: ")
    assert error in done.errors.splitlines()[0]
