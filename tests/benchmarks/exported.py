"""An exported model beside PyTorch: sizes of files, and texts per second by one thread.

python tests/benchmarks/exported.py RUN texts.jsonl
"""

import argparse
import json
import tempfile
from pathlib import Path

import measuring
import torch

import gile_lightning
from gile_lightning import export
from gile_lightning.exporting.predict import Model

KINDS = {  # the arguments of each export
    "hub": (),
    "onnx, labels frozen": ("--format", "onnx"),
    "onnx, labels given": ("--format", "onnx", "--labels", "vectors"),
}
BATCH = 64


def megabytes(*paths: Path) -> float:
    """Return the size of files, and of all files in folders."""
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*")))
    return sum(file.stat().st_size for file in files) / 1e6


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("texts", type=Path, help="with the columns of training, or text")
    parser.add_argument("--without_matchers", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    predictor = gile_lightning.load(given.run)
    columns = predictor.task.recipe.columns or ("text",)
    lines = given.texts.read_text(encoding="utf-8").splitlines()
    texts = [" ".join(json.loads(line)[column] or "" for column in columns) for line in lines]
    programs, sizes = {"PyTorch": predictor.predict}, {}
    checkpoint = given.run / "checkpoints/best.ckpt"
    sizes["PyTorch"] = megabytes(checkpoint if checkpoint.is_file() else given.run)
    with tempfile.TemporaryDirectory() as folder:
        for kind, options in KINDS.items():
            output = Path(folder) / kind
            more = ("--without_matchers", "true") if given.without_matchers and options else ()
            export.main(["--checkpoint", str(given.run), "--output", str(output), *options, *more])
            sizes[kind] = megabytes(output)
            if options:
                programs[kind] = Model(output, threads=1).predict
        batches = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]

        def label(predict):
            return lambda _: [predict(batch) for batch in batches]

        steps = {kind: label(predict) for kind, predict in programs.items()}
        seconds = measuring.by_turns(steps, given.rounds, 1)
    rows = [
        {
            "model": kind,
            "MB": size,
            **({"texts/s": len(texts) / seconds[kind]} if kind in seconds else {}),
        }
        for kind, size in sizes.items()
    ]
    print(measuring.table(rows))
    return rows


if __name__ == "__main__":
    main()
