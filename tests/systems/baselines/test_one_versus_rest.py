import json

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge

import gile_lightning
from gile_lightning import fit
from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.systems.baselines import OneVersusRest
from gile_testing import baseline_runs, runs
from gile_testing.exports import same_scores

RIDGE = {"class_path": "sklearn.linear_model.Ridge", "init_args": {"alpha": 0.5}}
LOGISTIC = "sklearn.linear_model.LogisticRegression"
BINARY = ("bow-10.yaml", "--model.prune", "0")


@pytest.fixture(scope="module")
def data():
    module = BioASQ(**baseline_runs.DATA, cache_dir=runs.cache())
    module.prepare_data()
    module.setup()
    return module


@pytest.fixture(scope="module")
def training(data):
    """The training documents as lists of word ids, and their labels [n, L]."""
    dataset = data.split("train")
    seen = data.tasks["english"].labels.seen
    targets = np.zeros((len(dataset), seen))
    for row, labels in enumerate(dataset["labels"]):
        targets[row, labels] = 1
    return list(dataset["words"]), targets


def counter(data, **options):
    unknown = len(data.tasks["english"].tokenizer.vocabulary) - 1
    return CountVectorizer(analyzer=list, vocabulary=range(unknown), **options)


def texts_and_ids(data):
    (folder,) = runs.cache().glob(f"builtin-*-{baseline_runs.DATA['builtin_documents']}")
    texts = [runs.text(article) for article in runs.articles(folder)[:30]]
    encoder = data.tasks["english"].tokenizer
    return texts, [encoder.word_ids(baseline_runs.words(text)) for text in texts]


def test_logistic_regression_on_the_most_frequent_tenth(data, training):
    documents, targets = training
    run = baseline_runs.trained(*BINARY)
    texts, ids = texts_and_ids(data)
    found = gile_lightning.load(run.best).logits(texts).numpy()
    count = counter(data, binary=True)
    words, new = count.transform(documents), count.transform(ids)
    frequencies = counter(data).transform(documents).sum(axis=0).A1
    used = sorted(range(len(frequencies)), key=lambda i: -frequencies[i])
    used = used[: -(-len(used) // 10)]
    for label in (0, 5, 40, targets.shape[1] - 1):
        one = LogisticRegression(solver="liblinear", dual=True, tol=1e-6, max_iter=100_000)
        one.fit(words[:, used], targets[:, label])
        expected = one.decision_function(new[:, used])
        assert found[:, label] == pytest.approx(expected, abs=0.05)  # its tolerance is 0.1


def test_the_estimators_own_arguments_on_tfidf(data, training):
    documents, targets = training
    estimator = ("--model.weighting", "tfidf", "--model.estimator", json.dumps(RIDGE))
    run = baseline_runs.trained("bow.yaml", *estimator, "--model.prune", "0.02")
    texts, ids = texts_and_ids(data)
    found = gile_lightning.load(run.best).logits(texts).numpy()
    tfidf = TfidfTransformer(sublinear_tf=True)
    tfidf.fit(counter(data).transform(documents))
    tfidf.idf_ -= 1
    words = tfidf.transform(counter(data).transform(documents))
    one = Ridge(alpha=0.5).fit(words, targets)
    coefficients = np.where(np.abs(one.coef_) < 0.02, 0, one.coef_)
    new = tfidf.transform(counter(data).transform(ids))
    expected = 4 * (new @ coefficients.T + one.intercept_ - 0.5)
    # a coefficient near the limit may fall on the other side of it
    assert np.quantile(np.abs(found - expected), 0.99) < 1e-3
    parameters = (coefficients != 0).sum() + targets.shape[1] + words.shape[1]
    assert run.metrics["parameters"] == pytest.approx(parameters, rel=1e-2)


def test_exported(tmp_path):
    same_scores(baseline_runs.trained(*BINARY), tmp_path / "model")


def test_other_labels_are_refused():
    run = baseline_runs.trained(*BINARY)
    with pytest.raises(InputError, match="scores only the labels it was trained on"):
        gile_lightning.load(run.best).set_labels({"Cats": "Animals that purr."})


def test_resumed_run_is_an_unbroken_one(tmp_path):
    output = tmp_path / "run"
    assert baseline_runs.interrupted(BINARY[0], output, *BINARY[1:]).status
    state = torch.load(output / "checkpoints/last.ckpt", weights_only=True)
    assert state["gile_lightning"]["extra"]["coefficients"] == {"english": 0}
    options = (*BINARY[1:], "--ckpt_path", "last")
    done = runs.call(fit.main, *baseline_runs.arguments(BINARY[0], output, *options))
    assert done.status is None, done.errors
    run = baseline_runs.trained(*BINARY)
    before, after = (
        torch.load(folder / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
        for folder in (run.output, output)
    )
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert done.result["test.seen.ranking_loss"] == run.metrics["test.seen.ranking_loss"]
    # and once more, from a checkpoint that has all coefficients
    more = (*options, "--trainer.max_epochs", "3")
    again = runs.call(fit.main, *baseline_runs.arguments(BINARY[0], output, *more))
    assert again.status is None, again.errors
    assert again.result["epochs"] == 1  # fitted is fitted
    assert again.result["test.seen.ranking_loss"] == run.metrics["test.seen.ranking_loss"]


def refused(*more):
    done = runs.call(fit.main, *baseline_runs.arguments("bow.yaml", None, *more))
    assert done.status == 2
    return done.errors.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model.top", "0"], "model.top is 0"),
        (["--model.top", "1.5"], "model.top is 1.5"),
        (["--model.prune", "-1"], "model.prune is -1"),
        (["--model.weighting", "count"], "'binary' or 'tfidf'"),
        (["--model.estimator", "sklearn.neighbors.KNeighborsClassifier"], "is not linear"),
        (["--model.estimator", LOGISTIC, "--model.estimator.C", "-1"], "'C' parameter"),
        (["--model.estimator", LOGISTIC, "--model.estimator.X", "-1"], "unknown key 'X'"),
        (
            ["--model.estimator", '{"class_path": "sklearn.linear_model.Ridge", "init_args": '
             '{"solver": "svd"}}'],
            "'svd' does not support fitting the intercept on sparse data",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(options, message):
    assert message in refused(*options)


def test_one_that_draws_is_seeded():
    seeds = [OneVersusRest(seed=seed).estimator().random_state for seed in (3, 3, 4)]
    assert seeds == [3, 3, 4]
