"""Label texts with the model of this folder: needs numpy and onnxruntime, and no torch.

python predict.py < texts.txt
"""

import json
import sys
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
        vocabulary = (folder / "vocabulary.txt").read_bytes().decode()[:-1].split("\n")
        self.unknown = len(vocabulary) - 1
        known = vocabulary[:-1] if self.settings["known_words_only"] else vocabulary
        self.ids = {word: i for i, word in enumerate(known)}
        self.score = InferenceSession(folder / "model.onnx", options).run
        if self.settings["labels"] == "vectors":
            self.encode_labels = InferenceSession(folder / "labels.onnx", options).run
        lines = (folder / "labels.jsonl").read_bytes().decode().split("\n")
        self.set_labels([json.loads(line) for line in lines if line])

    def set_labels(self, labels: list[dict[str, Any]]) -> None:
        """Choose the labels; others than those of the folder if the model takes vectors."""
        self.labels, self.label_inputs = labels, {}
        if self.settings["labels"] == "vectors":
            texts = [self.words(label["text"]) for label in labels]
            kept = [[text[: self.settings["label_words"]]] if text else [] for text in texts]
            (vectors,) = self.encode_labels(None, self.inputs(kept))
            ids = np.array([label.get("id", -1) for label in labels], np.int64)
            self.label_inputs = {"label_vectors": vectors, "label_ids": ids}

    def words(self, text: str) -> list[str]:
        """Split a text into words."""
        if self.settings["known_words_only"]:
            return list(words.known_words(text, self.ids))
        return words.tokenize(text)

    def sentences(self, text: str) -> list[list[str]]:
        """Split a text into sentences of words, as many as the model reads."""
        pieces = [text]
        if self.settings["sentences"]:
            import sentencex

            pieces = sentencex.segment(self.settings["sentences"], text)
        return words.truncate(map(self.words, pieces), *self.settings["limits"])

    def inputs(self, texts: list[list[list[str]]]) -> dict[str, Any]:
        """Return texts, which are lists of sentences, as flat word ids and lengths."""
        flat = [self.ids.get(w, self.unknown) for text in texts for s in text for w in s]
        lengths = [len(sentence) for text in texts for sentence in text]
        counts = [len(text) for text in texts]
        named = {"words": flat, "sentence_lengths": lengths, "document_lengths": counts}
        return {name: np.array(values, np.int64) for name, values in named.items()}

    def predict(self, texts: list[str], top_k: int = 5) -> list[list[dict[str, Any]]]:
        """Return the best labels of each text, with their scores; none for a text without words."""
        documents = [self.sentences(text) for text in texts]
        logits, scores = self.score(None, self.inputs(documents) | self.label_inputs)
        count = min(top_k, len(self.labels))
        best = np.argpartition(-logits, count - 1, axis=1)[:, :count]
        # ranked by logits, as probabilities near 1 are equal
        order = np.argsort(-np.take_along_axis(logits, best, 1), axis=1)
        best = np.take_along_axis(best, order, 1)
        scores = np.take_along_axis(scores, best, 1)
        rows = zip(documents, best.tolist(), scores.tolist(), strict=True)
        return [[self.named(*x) for x in zip(*row, strict=True) if text] for text, *row in rows]

    def named(self, place: int, score: float) -> dict[str, Any]:
        """Return the name of a label with its score, and its URI if it has one."""
        label = self.labels[place]
        uri = {"uri": label["uri"]} if "uri" in label else {}
        return {"name": label["name"], **uri, "score": score}


if __name__ == "__main__":
    for row in Model(Path(__file__).parent).predict(sys.stdin.read().splitlines()):
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")
