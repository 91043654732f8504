import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import gile_lightning
from gile_lightning import fit
from gile_lightning.common.errors import InputError
from gile_lightning.systems.baselines import TfidfCosine
from gile_testing import baseline_runs, dw_runs, runs

COSINE = "gile_lightning.systems.baselines.TfidfCosine"
NEW = {"Kittens": "Young cats, in the house.", "Liver": "A large organ, of the body, with bile."}


@pytest.fixture(scope="module")
def run():
    return baseline_runs.trained("cosine.yaml")


@pytest.fixture(scope="module")
def articles():
    (folder,) = runs.cache().glob(f"builtin-*-{baseline_runs.DATA['builtin_documents']}")
    return runs.articles(folder)


def vectorizer(model, articles):
    """Scikit-learn's own, on the raw texts of the documents that the model was trained on."""
    words = model.task.tokenizer.vocabulary[:-1]
    tfidf = TfidfVectorizer(
        analyzer=baseline_runs.words, vocabulary=words, sublinear_tf=True, lowercase=False
    )
    tfidf.fit([runs.text(article) for article in training(articles)])
    tfidf.idf_ -= 1
    return tfidf


def training(articles):
    """The documents before 2005 that have a described label, without those for validation."""
    model = gile_lightning.load(baseline_runs.trained("cosine.yaml").best)
    names = {*model.task.labels.names}
    pool = [a for a in articles if int(a["year"]) < 2005 and names & {*a["meshMajor"]}]
    count = model.task.labels.documents
    generator = np.random.default_rng(1234)
    drawn = {*generator.choice(len(pool), len(pool) - count, replace=False).tolist()}
    return [article for i, article in enumerate(pool) if i not in drawn]


def cosines(model, articles, labels):
    tfidf = vectorizer(model, articles)
    texts = [runs.text(article) for article in articles]
    label_tfidf = TfidfVectorizer(
        analyzer=list, vocabulary=tfidf.vocabulary_, sublinear_tf=True, lowercase=False
    )
    label_tfidf.idf_ = tfidf.idf_
    words = [baseline_runs.words(f"{name} {text}") for name, text in labels]
    return (tfidf.transform(texts) @ label_tfidf.transform(words).T).toarray()


@pytest.fixture(scope="module")
def oracle(run, articles):
    model = gile_lightning.load(run.best)
    # label_text: name_description has the name in the text, name_weight: 1 counts it once more
    labels = model.task.labels
    return cosines(model, articles, zip(labels.names, labels.texts, strict=True))


def test_scores_are_cosines(run, articles, oracle):
    model = gile_lightning.load(run.best)
    found = model.logits([runs.text(article) for article in articles]).sigmoid().numpy()
    assert found == pytest.approx(oracle, abs=1e-6)


def test_cosines_are_not_calibrated_and_this_is_said(run):
    assert "TfidfCosine cannot be calibrated" in run.printed
    assert not any(key.endswith("calibration_error") for key in run.metrics)


def test_predict_new_labels(run, articles):
    model = gile_lightning.load(run.best)
    # as in training: the name in the text, and once more
    texts = [(name, f"{name} {text}") for name, text in NEW.items()]
    expected = cosines(model, articles, texts)[:3]
    assert expected.any(axis=1).all()
    found = model.predict([runs.text(article) for article in articles[:3]], NEW)
    for labels, row in zip(found, expected, strict=True):
        scores = {label["name"]: label["score"] for label in labels}
        assert [scores[name] for name in NEW] == pytest.approx(row.tolist(), abs=1e-6)


def test_labels_by_name_in_two_languages():
    output = runs.folder() / "dw-cosine"
    given = [
        *("--config", dw_runs.CONFIG, "--model", COSINE, "--output", output),
        *("--data.cache_dir", runs.cache(), "--data.builtin_documents", dw_runs.DOCUMENTS),
        *("--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false"),
        *("--trainer.logger", "false"),
    ]
    done = runs.call(fit.main, *given)
    assert done.status is None, done.errors
    model = gile_lightning.load(output, language="german")
    assert model.task.tokenizer.known_words_only
    name = next(name for name in model.task.labels.names if " " not in name)
    scores = {x["name"]: x["score"] for x in model.predict([name], top_k=None)[0]}
    assert scores[name] == pytest.approx(1)  # a document that is the label's name alone


def test_a_weight_below_zero_is_refused():
    with pytest.raises(InputError, match="name_weight is -1"):
        TfidfCosine(name_weight=-1)
