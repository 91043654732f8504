"""napkinXC: probabilistic label trees (PLT) over its own TF-IDF of words, and one-versus-rest (BR).

Both with its defaults. Every label is asked for, so that each is ranked.
"""

from pathlib import Path
from typing import Any

import numpy as np
from napkinxc.models import BR, PLT
from peer import RETRAINED, Corpus, Measured, main
from sklearn.feature_extraction.text import TfidfVectorizer


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train and score."""
    with measured.stage("words"):
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, dtype=np.float32)
        train = vectorizer.fit_transform(corpus.train.texts)
    found = {}
    for name, kind in (("napkinxc_plt", PLT), ("napkinxc_br", BR)):
        with measured.stage(f"train {name}"):
            model = kind(str(own / name))
            model.fit(train, corpus.train.labels)
        scores = np.full((len(corpus.test.texts), len(corpus.names)), np.nan, dtype=np.float32)
        scores[:, : corpus.seen] = 0.0
        with measured.stage(f"score {name}"):
            texts = vectorizer.transform(corpus.test.texts)
            for row, pairs in enumerate(model.predict_proba(texts, top_k=corpus.seen)):
                for label, probability in pairs:
                    scores[row, label] = probability
        found[name] = scores
    for name in found:
        measured.seconds[f"train {name}"] += measured.seconds["words"]
    return {
        "scores": found,
        "stages": {name: (f"train {name}", f"score {name}") for name in found},
        "new_label": dict.fromkeys(found, RETRAINED),
    }


if __name__ == "__main__":
    main("napkinxc", run)
