"""Label texts with the model of this folder, without torch: python predict.py < texts.txt."""

import json
import sys
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gile_lightning.data.tokenizing import words


class Model:
    """The model of a folder, run by so many threads; 0 for one per core."""

    def __init__(self, folder: Path, threads: int = 0) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        options.intra_op_num_threads = threads
        self.settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        *known, _ = (folder / "vocabulary.txt").read_bytes().decode()[:-1].split("\n")
        self.ids, self.unknown = {word: i for i, word in enumerate(known)}, len(known)
        self.run = {x.stem: InferenceSession(x, options).run for x in folder.glob("*.onnx")}
        self.set_labels([json.loads(line) for line in (folder / "labels.jsonl").open("rb")])

    def set_labels(self, labels: list[dict[str, Any]]) -> None:
        """Choose the labels; others than those of the folder if the model takes vectors."""
        frozen, names = self.settings.get("frozen"), "\n".join(label["name"] for label in labels)
        if frozen not in (None, zlib.crc32(names.encode())):
            raise ValueError("the labels of this model are frozen: export it with --labels vectors")
        if frozen is None and (lacking := [x["name"] for x in labels if "text" not in x]):
            raise ValueError(f"labels without a text: {lacking[:5]}")
        self.labels, self.label_inputs = labels, {}
        if "labels" in self.run:
            reading = self.settings["label_reading"]
            texts = [words.read(label["text"], self.ids, **reading) for label in labels]
            (vectors,) = self.run["labels"](None, self.inputs(texts))
            ids = np.array([label.get("id", -1) for label in labels], np.int64)
            self.label_inputs = {"label_vectors": vectors, "label_ids": ids}

    def sentences(self, text: str) -> list[list[str]]:
        """Split a text into sentences of words, as many as the model reads."""
        return words.read(text, self.ids, **self.settings["reading"])

    def inputs(self, texts: list[list[list[str]]]) -> dict[str, Any]:
        """Return texts, which are lists of sentences, as flat word ids and lengths."""
        flat = [self.ids.get(w, self.unknown) for text in texts for s in text for w in s]
        named = {"words": flat, "sentence_lengths": [len(s) for text in texts for s in text]}
        named["document_lengths"] = [len(text) for text in texts]
        return {name: np.array(values, np.int64) for name, values in named.items()}

    def predict(self, texts: list[str], top_k: int = 5) -> list[list[dict[str, Any]]]:
        """Return the best labels of each text, with their scores; none for a text without words."""
        documents = [self.sentences(text) for text in texts]
        logits, scores = self.run["model"](None, self.inputs(documents) | self.label_inputs)
        best = np.argsort(-logits, axis=1)[:, :top_k]  # scores near 1 are equal, logits are not
        kept = [{k: x[k] for k in ("name", "uri") if k in x} for x in self.labels]
        rows = zip(documents, best, scores.astype(float), strict=True)
        return [[kept[i] | {"score": row[i]} for i in b] if t else [] for t, b, row in rows]


if __name__ == "__main__":
    model = Model(Path(__file__).parent)
    # so many at a time; `splitlines` would split within lines
    while lines := [line.removesuffix("\n") for line in islice(sys.stdin, 256)]:
        rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in model.predict(lines)]
        sys.stdout.writelines(rows)
        sys.stdout.flush()
