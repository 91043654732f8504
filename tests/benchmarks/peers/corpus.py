"""Writes a corpus for the peers: texts and label texts, split as our own systems read them.

python tests/benchmarks/peers/corpus.py DIR --corpus attack
python tests/benchmarks/peers/corpus.py DIR --corpus medline --data FOLDER

DIR gets ``train.jsonl``, ``validation.jsonl`` and ``test.jsonl`` (text, labels by number) and
``labels.jsonl`` (name, description, synonyms, whether training documents have it).
"""

import argparse
import json
from pathlib import Path

from gile_lightning.data import ATTACK, BioASQ
from gile_lightning.data.document import SPLITS
from gile_lightning.data.document_data_module import DocumentDataModule


def read(corpus: str, folder: Path | None) -> DocumentDataModule:
    """Return a corpus, encoded and read: that of the results in the documentation."""
    settings = {"label_text": "name_description", "label_words": True}
    data: DocumentDataModule
    if corpus == "attack":
        data = ATTACK(split_year=2021, **settings)
    else:
        data = BioASQ(path=folder, split_year=2005, validation_size=500, **settings)
    data.prepare_data()
    data.setup()
    return data


def write(data: DocumentDataModule, folder: Path) -> None:
    """Write documents and labels as lines of JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = data.corpus.task.labels
    with open(folder / "labels.jsonl", "w", encoding="utf-8") as out:
        parts = zip(labels.names, labels.texts, labels.synonyms, strict=True)
        for i, (name, text, synonyms) in enumerate(parts):
            line = {"name": name, "text": text, "synonyms": synonyms, "seen": i < labels.seen}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    for split in SPLITS:
        documents = data.split(split)
        texts = data.original_texts(split, range(len(documents)))
        own: list[list[int]] = []
        for batch in data.some_documents(data.language, split, range(len(documents))):
            lengths = batch.label_counts.tolist()
            own += [ids.tolist() for ids in batch.label_ids.split(lengths)]
        with open(folder / f"{split}.jsonl", "w", encoding="utf-8") as out:
            for text, ids in zip(texts, own, strict=True):
                out.write(json.dumps({"text": text, "labels": ids}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--corpus", choices=("attack", "medline"), default="attack")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    write(read(given.corpus, given.data), given.folder)
