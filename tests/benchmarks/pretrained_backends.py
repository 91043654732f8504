"""What runs a frozen sentence encoder: texts per second, and how well its vectors rank labels.

python tests/benchmarks/pretrained_backends.py [--texts 200] [--documents 1000] [--data DIR]

The encoder is all-MiniLM-L6-v2. Texts of 200 words are documents one after another, cut. Average
precision is that of the cosine alone, on the first test documents of ATT&CK, or of a folder in the
BioASQ format. What is not installed is left out:

    pip install openvino nncf onnx onnxscript onnxruntime 'model2vec[distill]'
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from measuring import by_turns, machine, table
from sklearn.metrics import label_ranking_average_precision_score
from torch import Tensor, nn

from gile_lightning.data import ATTACK, BioASQ
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.pretrained import backends, transformer
from gile_lightning.data.pretrained.batches import in_batches
from gile_lightning.data.pretrained.model import dimension, find_model
from gile_lightning.data.pretrained.subwords import Reading

MODEL = "all-MiniLM-L6-v2"
WORDS = 200
ONNX_TOKENS = 2_048  # in a batch, padding included

Encode = Callable[[list[str]], Tensor]


class Corpus(NamedTuple):
    """Test documents, the texts of labels, and which of these each document has.

    ``seen`` is the number of labels that training documents have; these come first.
    """

    documents: list[str]
    labels: list[str]
    targets: np.ndarray
    seen: int


def read(data: Path | None, documents: int) -> Corpus:
    """Read the first test documents, and the labels that any document has."""
    reader: Any = ATTACK() if data is None else BioASQ(str(data), split_year=2005)
    reader.label_text = "name_description"
    skipped = Skipped()
    found = list(reader.documents(skipped))
    texts = reader.label_texts(skipped)
    tests = [document for document in found if document.split == "test"]
    in_training = {name for one in found if one.split == "train" for name in one.labels}
    occurring = {name for one in found for name in one.labels if name in texts}
    names = sorted(occurring, key=lambda name: (name not in in_training, name))
    ids = {name: i for i, name in enumerate(names)}
    targets = np.zeros((min(documents, len(tests)), len(names)), dtype=bool)
    for row, one in zip(targets, tests, strict=False):
        row[[ids[name] for name in one.labels if name in ids]] = True
    return Corpus(
        [" ".join(map(str, one.pieces)) for one in tests[:documents]],
        [texts[name] for name in names],
        targets,
        len(in_training & occurring),
    )


def long_texts(documents: list[str], number: int) -> list[str]:
    """Return texts of `WORDS` words."""
    words = list(chain.from_iterable(text.split() for text in documents))
    words *= -(-number * WORDS // len(words))
    return [" ".join(words[i * WORDS : (i + 1) * WORDS]) for i in range(number)]


def average_precision(encode: Encode, corpus: Corpus) -> list[float]:
    """Rank seen and unseen labels by the cosine with the document."""
    scores = (encode(corpus.documents) @ encode(corpus.labels).T).numpy()
    found = []
    for labels in (slice(None, corpus.seen), slice(corpus.seen, None)):
        there = corpus.targets[:, labels].any(1)
        right, ranked = corpus.targets[there, labels], scores[there, labels]
        found.append(float(label_ranking_average_precision_score(right, ranked)))
    return found


def encoders(folder: Path) -> dict[str, Encode]:
    """Return what can run the encoder here, by name."""
    from sentence_transformers import SentenceTransformer

    whole = SentenceTransformer(str(find_model(MODEL)), device="cpu")

    def plain(texts: list[str]) -> Tensor:
        vectors = whole.encode(texts, convert_to_tensor=True, show_progress_bar=False)
        return F.normalize(vectors)

    found: dict[str, Encode] = {
        "SentenceTransformer.encode": plain,
        "torch": own("torch"),
        "torch-bfloat16": own("torch-bfloat16"),
    }
    if find_spec("openvino") and find_spec("nncf"):
        found["openvino-int8"] = own("openvino-int8")
    if find_spec("onnxruntime") and find_spec("onnxscript"):
        found |= exported(folder)
    if find_spec("model2vec") and find_spec("skeletoken"):
        found["model2vec (256)"] = distilled()
    return found


def own(backend: backends.Backend) -> Encode:
    """Encode with a value of ``data.pretrained_backend``."""

    def encode(texts: list[str]) -> Tensor:
        return backends.encode(MODEL, *subwords(texts), backend)

    return encode


def subwords(texts: list[str]) -> tuple[Tensor, Tensor]:
    """Return the subwords of texts, flat, and their numbers."""
    rows = Reading(MODEL).subwords(texts)
    return torch.from_numpy(np.concatenate(rows)), torch.tensor([len(row) for row in rows])


def exported(folder: Path) -> dict[str, Encode]:
    """Return the encoder in ONNX Runtime, in float32 and with weights in 8 bits."""
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    model = transformer.frozen(MODEL)

    class Vectors(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.modules_ = model.model

        def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
            return transformer.encode_batch(self.modules_, ids, mask)[0]

    ids = torch.arange(1000, 1016).view(2, 8)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    exact, rounded = str(folder / "exact.onnx"), str(folder / "rounded.onnx")
    with redirect_stdout(StringIO()):
        torch.onnx.export(
            Vectors().eval(),
            (ids, torch.ones_like(ids)),
            exact,
            dynamo=True,
            dynamic_shapes=(free, free),
            input_names=["ids", "mask"],
        )
        quantize_dynamic(exact, rounded)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()

    def running(file: str) -> Encode:
        session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])

        def run(ids: Tensor, mask: Tensor, hidden: int) -> tuple[Tensor, Tensor]:
            found = session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})
            return torch.from_numpy(found[0]), torch.empty(0)

        def encode(texts: list[str]) -> Tensor:
            size = dimension(MODEL)
            rows = subwords(texts)
            return in_batches(run, *rows, model.padding, size, ONNX_TOKENS).vectors

        return encode

    return {"ONNX Runtime": running(exact), "ONNX Runtime, 8 bits": running(rounded)}


def distilled() -> Encode:
    """Return static vectors of subwords that model2vec makes of the encoder."""
    from model2vec.distill import distill

    static = distill(model_name=str(find_model(MODEL)), pca_dims=256)

    def encode(texts: list[str]) -> Tensor:
        return F.normalize(torch.from_numpy(static.encode(texts, use_multiprocessing=False)))

    return encode


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=200, help="of 200 words, for the speed")
    parser.add_argument("--documents", type=int, default=1_000, help="for the precision")
    parser.add_argument("--data", type=Path, help="a folder in the BioASQ format")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="a JSON file for the figures")
    given = parser.parse_args(arguments)
    corpus = read(given.data, given.documents)
    texts = long_texts(corpus.documents, given.texts)
    with tempfile.TemporaryDirectory() as folder:
        found = encoders(Path(folder))
        seconds = by_turns(
            {name: lambda _, run=run: run(texts) for name, run in found.items()}, given.rounds, 1
        )
        exact = found["torch"](texts)
        rows: list[dict[str, object]] = []
        for name, encode in found.items():
            vectors = encode(texts)
            same = vectors.shape == exact.shape
            seen, unseen = average_precision(encode, corpus)
            rows.append(
                {
                    "encoder": name,
                    "texts/s": len(texts) / seconds[name],
                    "cosine with torch": float((vectors * exact).sum(1).mean()) if same else None,
                    "seen AvgPr": 100 * seen,
                    "unseen AvgPr": 100 * unseen,
                }
            )
    about = machine()
    print(table(rows))
    print(f"{about['processor']}, {about['threads']} threads, {len(corpus.labels):,} labels")
    if given.output:
        given.output.write_text(json.dumps({"machine": about, "rows": rows}), encoding="utf-8")
    return rows


if __name__ == "__main__":
    main()
