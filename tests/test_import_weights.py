"""The authors' weights as checkpoints: files of their layouts, word vectors and news, all tiny."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import precision_recall_fscore_support

import gile_lightning
from gile_lightning import evaluate, fit, import_weights, predict
from gile_lightning.released import read_weights
from gile_lightning.training.checkpoint import STATE
from gile_testing import released_oracle as oracle
from gile_testing import runs
from gile_testing.import_files import (
    CUT,
    LABELS,
    LANGUAGES,
    expected_scores,
    label_vectors,
    logits_and_targets,
    news,
    padded,
    vectors_of,
    write_files,
    write_lines,
    write_weights,
)

GILE = ("att", "attdense", "gile")
LINEAR = ("att", "attdense", "linear 1")
FAMILIES = [
    *[(("none", encoder, "gile"), 1) for encoder in ("attdense", "attgru", "attbigru")],
    *[((share, "attdense", "gile"), 2) for share in ("att", "enc", "both")],
    (("none", "attdense", "linear 1"), 1),
    (("both", "attdense", "linear"), 2),
]
VECTORS = "--data.word_vectors"

every_family = pytest.mark.parametrize(
    ("family", "languages"), FAMILIES, ids=["-".join(family) for family, _ in FAMILIES]
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    write_files(folder)
    return folder


def imported(folder, *more, name="run"):
    """Import the weights of a folder, into it."""
    output = folder / name
    args = (folder / "weights.h5", "--args", folder / "args.json", "--output", output, *more)
    done = runs.call(import_weights.main, *args)
    assert done.status is None, done.errors
    assert done.result == output
    return output


def whole(files):
    return ("--word_vectors", files / "vectors", "--labels", files / "labels")


def data_of(files, *more):
    return (
        *("--data.path", files / "raw", "--data.cache_dir", files / "cache", *more),
        *("--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"),
        *("--trainer.logger", "false"),
    )


# --- logits ---


@every_family
def test_logits_are_those_of_the_released_model(files, tmp_path, family, languages):
    made = write_weights(tmp_path, family, languages)
    run = imported(tmp_path, *whole(files))
    model = read_weights(tmp_path / "weights.h5", tmp_path / "args.json")
    for number, language in enumerate(LANGUAGES[:languages]):
        predictor = gile_lightning.load(run, language=language)
        lines = (files / f"raw/{language}/test.jsonl").read_text().splitlines()
        texts = [f"{a['title']}. {a['text']}" for a in map(json.loads, lines)]
        logits = predictor.logits(texts).numpy()
        table = vectors_of(files, language)
        x = padded([sentences for sentences, _ in news(language)["test"]], table)
        e = label_vectors(language, table) if family[2] == "gile" else None
        with torch.no_grad():
            given = None if e is None else torch.from_numpy(e)
            released = model(language, torch.from_numpy(x), given).logits.numpy()
        np.testing.assert_allclose(logits, released, rtol=1e-5, atol=1e-5)
        expected, _ = logits_and_targets(files, language, number, made)
        np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)
        assert expected.std() > 0.1
        assert predictor.label_names == LABELS[language]


def test_shared_weights_are_stored_once(tmp_path):
    write_weights(tmp_path, ("both", "attdense", "gile"), 2)
    weights = torch.load(imported(tmp_path) / "checkpoints/best.ckpt", weights_only=True)
    weights = weights["state_dict"]
    for key, tensor in weights.items():
        if key.startswith("networks.english."):
            other = weights[key.replace("english", "german")]
            own = ".unit." in key
            assert (tensor.data_ptr() == other.data_ptr()) != own, key


@pytest.mark.parametrize(("language", "code"), [("german", "de"), ("fr", "fr"), ("klingon", "en")])
def test_sentences_are_split_as_in_the_language(files, tmp_path, language, code):
    write_weights(tmp_path, GILE, 1)
    arguments = json.loads((tmp_path / "args.json").read_text()) | {"languages": [language]}
    (tmp_path / "args.json").write_text(json.dumps(arguments))
    (tmp_path / f"{language}.txt").symlink_to(files / "vectors/german.txt")
    text = gile_lightning.load(imported(tmp_path, "--word_vectors", tmp_path)).task.tokenizer
    assert text.sentences == code
    assert (text.max_sentences, text.max_sentence_words, text.max_label_words) == (30, 30, 100)


# --- evaluate ---


@pytest.fixture(scope="module")
def gile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gile")
    return folder, write_weights(folder, GILE, 2)


@pytest.fixture(scope="module")
def linear(files, tmp_path_factory):
    folder = tmp_path_factory.mktemp("linear")
    made = write_weights(folder, LINEAR, 2)
    return folder, made, imported(folder, *whole(files))


def gile_with(beside, files, gile):
    """Return an import with nothing beside the weights, with words, or with labels too."""
    if not (gile[0] / beside).is_dir():
        more = {"nothing": (), "words": whole(files)[:2], "labels": whole(files)}[beside]
        imported(gile[0], *more, name=beside)
    return gile[0] / beside


@pytest.fixture(scope="module", params=["nothing", "words", "labels"])
def run(request, files, gile):
    """An import, and what its data must bring."""
    output = gile_with(request.param, files, gile)
    return output, (VECTORS, files / "vectors") if request.param == "nothing" else ()


def scores(output, made, files, *more):
    """Evaluate an import of both languages, which must score what the equations do."""
    scored = files / f"scored_{output.name}"
    keys = ("--output", scored, *more)
    done = runs.call(evaluate.main, "--checkpoint", output, *data_of(files, *keys))
    assert done.status is None, done.errors
    assert (scored / "report.html").is_file()
    for number, language in enumerate(LANGUAGES):
        expected = expected_scores(files, language, number, made)
        found = {key: done.result[f"{language}.{key}"] for key in expected}
        assert found == pytest.approx(expected, abs=1e-6)
    sizes = [w.size for layer in made[1].values() for w in layer if w is not None]
    assert done.result["parameters"] == sum(sizes)


def test_evaluate(files, gile, run):
    output, more = run
    scores(output, gile[1], files, *more)


def test_evaluate_linear(files, linear):
    _, made, output = linear
    scores(output, made, files)


def test_evaluate_one_of_the_languages(files, gile):
    output = gile_with("nothing", files, gile)
    done = runs.call(evaluate.main, "--checkpoint", output, *data_of(files))
    assert done.status == 2
    assert "no word vectors: set --data.word_vectors" in done.errors
    more = (VECTORS, files / "vectors", "--data.languages", '["german"]')
    done = runs.call(evaluate.main, "--checkpoint", output, *data_of(files, *more))
    assert done.status is None, done.errors
    expected = expected_scores(files, "german", 1, gile[1])
    assert {key: done.result[key] for key in expected} == pytest.approx(expected, abs=1e-6)


def test_labels_beyond_those_of_a_linear_model_are_misses(files, linear, tmp_path):
    """Every test article has a further label: more positives, nothing more predicted."""
    _, made, output = linear
    rows = (files / "raw/english/test.jsonl").read_text().splitlines()
    rows = [row | {"labels": [*row["labels"], "song"]} for row in map(json.loads, rows)]
    write_lines(tmp_path / "english/test.jsonl", rows)
    more = ("--data.path", tmp_path, "--data.languages", '["english"]')
    more += ("--output", tmp_path / "scored")
    done = runs.call(evaluate.main, "--checkpoint", output, *data_of(files, *more))
    assert done.status is None, done.errors
    logits, targets = logits_and_targets(files, "english", 0, made)
    predicted = logits > CUT
    hits = (predicted & (targets == 1)).sum()
    positives = targets.sum() + len(targets)
    assert done.result["test.micro.recall"] == pytest.approx(hits / positives)
    assert done.result["test.micro.precision"] == pytest.approx(hits / predicted.sum())
    assert done.result["test.micro.labels"] == 7


# --- predict ---


@pytest.fixture
def texts(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("A team. The goal of the game!\nVote for the party.\n")
    return path


def said(output, texts, *more):
    args = ("--checkpoint", output, "--input", texts, "--language", "english", "--top_k", 6)
    done = runs.call(predict.main, *args, *more)
    return done, [json.loads(line)["labels"] for line in done.printed.splitlines()]


@pytest.mark.parametrize("own", [True, False], ids=["one's own labels", "the model's labels"])
def test_predict(files, gile, texts, own):
    output = gile_with("words" if own else "labels", files, gile)
    given = ("--labels", files / "described-english.jsonl") if own else ()
    done, found = said(output, texts, *given)
    assert done.status is None, done.errors
    table = vectors_of(files, "english")
    x = padded([[["team"], ["goal", "game"]], [["vote", "party"]]], table)
    *_, logits = oracle.run(x, label_vectors("english", table), gile[1][0][0], gile[1][1])
    names = [name.title() if own else name for name in LABELS["english"]]
    for row, of_text in zip(logits, found, strict=True):
        order = np.argsort(-row).tolist()
        assert [label["name"] for label in of_text] == [names[i] for i in order]
        scores = 1 / (1 + np.exp(-row[order]))
        assert [label["score"] for label in of_text] == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize(
    ("beside", "options", "error"),
    [
        ("nothing", (), "import them with --word_vectors (and --labels)"),
        ("words", (), "holds no labels: give labels (predict --labels)"),
        ("labels", ("--threshold", "tuned"), "no tuned threshold"),
    ],
)
def test_predict_needs_words_and_labels(files, gile, texts, beside, options, error):
    done, _ = said(gile_with(beside, files, gile), texts, *options)
    assert done.status == 2
    assert error in done.errors


# --- labels ---


def stored_labels(output):
    state = torch.load(output / "checkpoints/best.ckpt", weights_only=True)
    return {name: s["labels"]["names"] for name, s in state[STATE]["tasks"].items()}


@pytest.mark.parametrize("kind", ["labels", "", "train"], ids=["lines", "corpus", "authors'"])
def test_labels_in_the_order_of_the_file(files, linear, kind):
    more = ("--word_vectors", files / "vectors", "--labels", files / kind)
    assert stored_labels(imported(linear[0], *more, name=f"of-{kind}")) == LABELS


def refused(folder, *more, args="args.json"):
    given = () if args is None else ("--args", folder / args)
    output = folder / "refused"
    done = runs.call(import_weights.main, folder / "weights.h5", *given, "--output", output, *more)
    assert done.status == 2
    assert not (output / "checkpoints").exists()
    return done.errors.removeprefix("error: ").strip()


def test_labels_of_a_linear_model_are_numbered_where_they_are_not_given(files, tmp_path):
    write_weights(tmp_path, LINEAR, 1)
    assert "give --word_vectors too" in refused(tmp_path, "--labels", files / "labels")
    for more in ((), ("--word_vectors", files / "vectors")):
        output = tmp_path / f"run-{len(more)}"
        arguments = (tmp_path / "weights.h5", "--args", tmp_path / "args.json")
        done = runs.call(import_weights.main, *arguments, "--output", output, *more)
        assert done.status is None, done.errors
        assert "without --labels these are called label 0" in done.printed
    model = gile_lightning.load(output)
    assert model.label_names == [f"label {i}" for i in range(len(model.label_names))]
    assert len(model.predict(["sport team"], top_k=2)[0]) == 2


def test_another_number_of_labels(files, tmp_path):
    write_weights(tmp_path, LINEAR, 2, counts=[6, 3])
    assert "labels: 5 labels (german), the model has 3" in refused(tmp_path, *whole(files))


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (None, "{}: no english.json, train/english.json or english.jsonl there (--labels)"),
        (["sport", "Xylophones"], "{}: labels without a known word: Xylophones"),
        (["sport", "sport"], "unique names"),
    ],
)
def test_wrong_labels(files, tmp_path, names, error):
    write_weights(tmp_path, GILE, 1)
    if names is not None:
        write_lines(tmp_path / "english.jsonl", [{"name": name} for name in names])
    assert error.format(tmp_path) in refused(tmp_path, *whole(files)[:3], tmp_path)


@pytest.mark.parametrize(
    ("vectors", "error"),
    [
        ("sport 1 2 3\n", "{}/english.txt: 3-dimensional vectors, the model has 40"),
        (None, "no word vectors for 'english'"),
    ],
)
def test_wrong_word_vectors(tmp_path, vectors, error):
    write_weights(tmp_path, GILE, 1)
    if vectors is not None:
        (tmp_path / "english.txt").write_text(vectors)
    assert error.format(tmp_path) in refused(tmp_path, "--word_vectors", tmp_path)


# --- files ---


def test_missing_files(tmp_path):
    assert "weights.h5: no such file" in refused(tmp_path)
    write_weights(tmp_path, GILE, 1)
    assert "none.json: No such file" in refused(tmp_path, args="none.json")
    done = runs.call(import_weights.main)
    assert done.status == 2
    assert "missing: file" in done.errors


def test_output_by_default_which_is_not_written_over(tmp_path, monkeypatch):
    write_weights(tmp_path, GILE, 1)
    monkeypatch.chdir(tmp_path)
    done = runs.call(import_weights.main, "weights.h5", "--args", "args.json")
    assert done.result == Path("runs/import_weights/weights")
    assert f"run folder: {done.result}" in done.printed
    assert sorted(file.name for file in done.result.iterdir()) == ["checkpoints", "config.yaml"]
    before = (done.result / "checkpoints/best.ckpt").stat().st_mtime_ns
    again = runs.call(import_weights.main, "weights.h5")
    assert again.status == 2
    assert "holds a run already; choose another --output" in again.errors
    assert (done.result / "checkpoints/best.ckpt").stat().st_mtime_ns == before


def test_without_arguments_languages_are_numbered_or_named(files, tmp_path):
    made = write_weights(tmp_path, GILE, 2)
    for number, language in enumerate(LANGUAGES):
        name = f"language_{number}"
        (tmp_path / f"{name}.txt").symlink_to(files / f"vectors/{language}.txt")
        (tmp_path / f"{name}.jsonl").symlink_to(files / f"labels/{language}.jsonl")
    more = ("--output", tmp_path / "run", "--word_vectors", tmp_path, "--labels", tmp_path)
    done = runs.call(import_weights.main, tmp_path / "weights.h5", *more)
    assert done.status is None, done.errors
    found = gile_lightning.load(done.result, language="language_1").logits(["Tor. Ball und Spiel."])
    table = vectors_of(files, "german")
    x = padded([[["tor"], ["ball", "spiel"]]], table)
    *_, expected = oracle.run(x, label_vectors("german", table), made[0][1], made[1])
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)

    assert "for a model of 2 languages" in refused(tmp_path, "--languages", '["german"]', args=None)
    named = ("--languages", '["english", "german"]', "--output", tmp_path / "named")
    done = runs.call(import_weights.main, tmp_path / "weights.h5", *named)
    checkpoint = torch.load(tmp_path / "named/checkpoints/best.ckpt", weights_only=True)
    assert list(checkpoint[STATE]["tasks"]) == ["english", "german"]
    assert {key.split(".")[1] for key in checkpoint["state_dict"]} == {"english", "german"}


# --- training further ---


def weights_of(path):
    return torch.load(path, weights_only=True)["state_dict"]


@pytest.mark.parametrize(
    ("run", "again"), [("nothing", "--config"), ("labels", "--start_from")], indirect=["run"]
)
def test_start_from(files, run, again, tmp_path):
    output, more = run
    further = tmp_path / "further"
    given = ("--output", further, *data_of(files, *more))
    done = runs.call(fit.main, "--start_from", output, *given, "--trainer.max_epochs", 1)
    assert done.status is None, done.errors
    before, after = (weights_of(x / "checkpoints/best.ckpt") for x in (output, further))
    embeddings = {f"networks.{language}.embedding.weight" for language in LANGUAGES}
    assert after.keys() == before.keys() | embeddings
    assert not any(torch.equal(after[key], before[key]) for key in before.keys() - embeddings)
    for language in LANGUAGES:
        vectors = np.stack([*vectors_of(files, language).values(), np.zeros(40)])
        found = after[f"networks.{language}.embedding.weight"]
        np.testing.assert_allclose(found, vectors, rtol=1e-6)

    # goes on like any run: with what it was started with, or with the configuration that it left
    last = weights_of(further / "checkpoints/last.ckpt")
    start = output if again == "--start_from" else further / "config.yaml"
    more = ("--ckpt_path", "last", "--trainer.max_epochs", 2)
    done = runs.call(fit.main, again, start, *given, *more)
    assert done.status is None, done.errors
    assert len((further / "metrics.csv").read_text().splitlines()) == 3  # the heading, two epochs
    now = weights_of(further / "checkpoints/last.ckpt")
    assert {key for key in last if torch.equal(last[key], now[key])} == embeddings


def test_start_from_a_linear_model(files, linear, tmp_path):
    """The corpus' labels are numbered by frequency, the authors' are not."""
    output = tmp_path / "x"
    given = (*data_of(files), "--trainer.max_epochs", 1, "--model.optimizer.lr", 1e-30)
    done = runs.call(fit.main, "--start_from", linear[2], "--output", output, *given)
    assert done.status is None, done.errors
    before = torch.load(linear[2] / "checkpoints/best.ckpt", weights_only=True)
    after = torch.load(output / "checkpoints/best.ckpt", weights_only=True)
    old, new = (c[STATE]["tasks"]["english"]["labels"]["names"] for c in (before, after))
    assert new != old
    assert sorted(new) == sorted(old)
    key = "networks.english.output.linear.weight"
    ids = [old.index(name) for name in new]
    torch.testing.assert_close(after["state_dict"][key], before["state_dict"][key][ids])


def test_resuming_needs_more_than_weights(files, gile, tmp_path):
    output = gile_with("nothing", files, gile)
    file = output / "checkpoints/best.ckpt"
    given = ("--output", tmp_path / "x", *data_of(files, VECTORS, files / "vectors"))
    done = runs.call(fit.main, "--config", output / "config.yaml", "--ckpt_path", file, *given)
    assert done.status == 2
    assert f"train them further with --start_from {file}" in done.errors
    assert not (tmp_path / "x").exists()


# --- a published model ---


def test_published_model_on_real_text(shared, tmp_path):
    folder = shared / "fixtures/bi-gen/en-de/gile-mhan-att/german"
    (h5,) = folder.glob("*.h5")
    news = shared / "data/dw"
    output = tmp_path / "run"
    more = ("--args", folder / "args.json", "--output", output)
    more += ("--word_vectors", news / "word_vectors")
    done = runs.call(import_weights.main, h5, *more)
    assert done.status is None, done.errors
    given = ("--data.path", news / "raw", "--data.cache_dir", runs.cache())
    given += ("--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false")
    scored = runs.call(evaluate.main, "--checkpoint", output, *given)
    assert scored.status is None, scored.errors
    assert scored.result["parameters"] == 120_084

    lines = (news / "raw/german/test.jsonl").read_text().splitlines()
    articles = [json.loads(line) for line in lines]
    predictor = gile_lightning.load(output, language="german")
    words = predictor.task.tokenizer.vocabulary
    table = dict(
        zip(words, predictor.system.network(predictor.name).embedding.weight.numpy(), strict=True)
    )
    names = sorted({label for article in articles for label in article["labels"]})
    e = np.stack([np.mean([table[w] for w in name.split()], axis=0) for name in names])
    x = padded([predictor.task.tokenizer.split([article["text"]]) for article in articles], table)
    model = read_weights(h5, folder / "args.json")
    with torch.no_grad():
        logits = model("german", torch.from_numpy(x), torch.from_numpy(e)).logits.numpy()
    targets = runs.positives([article["labels"] for article in articles], names)
    predicted = logits > CUT
    f1 = precision_recall_fscore_support(targets, predicted, average="micro")[2]
    assert scored.result["german.test.micro.f1"] == pytest.approx(f1, abs=1e-6)
    expected = runs.ranking_scores(logits, targets)
    found = {key: scored.result[f"german.test.seen.{key}"] for key in expected}
    assert found == pytest.approx(expected, abs=1e-5)
