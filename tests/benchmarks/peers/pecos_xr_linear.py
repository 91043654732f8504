"""PECOS's XR-Linear over its own TF-IDF, with a tree of labels by their documents' vectors.

Settings are those of its README (PIFA label vectors, hierarchical k-means, 32 children), with a
beam that reaches every label, so that each is ranked.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from pecos.utils.featurization.text.vectorizers import Vectorizer
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from peer import RETRAINED, Corpus, Measured, main


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train and score."""
    labels = corpus.train.labels
    gold = sp.csr_matrix(
        (
            np.ones(sum(map(len, labels)), dtype=np.float32),
            np.concatenate(labels),
            np.cumsum([0, *map(len, labels)]),
        ),
        shape=(len(labels), corpus.seen),
    )
    with measured.stage("train"):
        settings = {"type": "tfidf", "kwargs": {"ngram_range": (1, 2), "min_df_cnt": 2}}
        vectorizer = Vectorizer.train(corpus.train.texts, settings)
        texts = vectorizer.predict(corpus.train.texts)
        vectors = LabelEmbeddingFactory.create(gold, texts, method="pifa")
        clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", nr_splits=32)
        model = XLinearModel.train(texts, gold, C=clusters)
    with measured.stage("score"):
        found = model.predict(
            vectorizer.predict(corpus.test.texts), only_topk=corpus.seen, beam_size=corpus.seen
        )
    scores = np.full((len(corpus.test.texts), len(corpus.names)), np.nan, dtype=np.float32)
    scores[:, : corpus.seen] = found.toarray()
    return {
        "scores": {"pecos_xr_linear": scores},
        "new_label": {"pecos_xr_linear": RETRAINED},
    }


if __name__ == "__main__":
    main("libpecos", run)
