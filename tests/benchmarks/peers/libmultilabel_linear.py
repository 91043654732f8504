"""LibMultiLabel's linear methods over its TF-IDF: one-versus-rest, and a tree of labels."""

from pathlib import Path
from typing import Any

import libmultilabel.linear as linear
import numpy as np
from peer import RETRAINED, Corpus, Measured, main

SYSTEMS = {"libmultilabel_1vsrest": linear.train_1vsrest, "libmultilabel_tree": linear.train_tree}


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train and score."""
    sets = {
        name: {"x": documents.texts, "y": [list(map(str, ids)) for ids in documents.labels]}
        for name, documents in (("train", corpus.train), ("test", corpus.test))
    }
    with measured.stage("words"):
        preprocessor = linear.Preprocessor()
        preprocessor.fit({"data_format": "txt", **sets})
        data = preprocessor.transform({"data_format": "txt", **sets})
    with measured.stage("words of test"):
        preprocessor.transform({"data_format": "txt", "test": sets["test"]})
    columns = np.array(list(map(int, preprocessor.label_mapping)))
    kept = np.flatnonzero(columns < corpus.seen)
    found = {}
    for name, train in SYSTEMS.items():
        with measured.stage(f"train {name}"):
            model = train(data["train"]["y"], data["train"]["x"], "-s 1")  # L2-loss SVM
        beam = {"beam_width": corpus.seen} if name.endswith("tree") else {}
        with measured.stage(f"score {name}"):
            predictions = (
                model.predict_values(data["test"]["x"], **beam)
                if beam
                else linear.predict_values(model, data["test"]["x"])
            )
        scores = np.full((len(corpus.test.texts), len(corpus.names)), np.nan, dtype=np.float32)
        scores[:, : corpus.seen] = -np.inf
        scores[:, columns[kept]] = np.asarray(predictions)[:, kept]
        found[name] = np.where(np.isneginf(scores), -1e9, scores)
        measured.seconds[f"train {name}"] += measured.seconds["words"]
        measured.seconds[f"score {name}"] += measured.seconds["words of test"]
    return {
        "scores": found,
        "stages": {name: (f"train {name}", f"score {name}") for name in found},
        "new_label": dict.fromkeys(found, RETRAINED),
    }


if __name__ == "__main__":
    main("libmultilabel", run)
