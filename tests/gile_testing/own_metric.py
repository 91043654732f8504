"""A metric of one's own, and the metrics of an evaluation on several processes."""

import json
import sys
from pathlib import Path

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics import DocumentMetric, Ranks
from gile_lightning.metrics.evaluation import Evaluation
from gile_testing.children import forked

LARGE = LabelSet(
    [f"l{i}" for i in range(60)],
    ["text"] * 60,
    [900, 51, 50, 50, *[7] * 5, 6, *[5] * 20, *[1] * 20, *[0] * 10],
    2000,
)


class HitAt(DocumentMetric):
    """1 if one of the k best labels is right, else 0."""

    def __init__(self, k: int = 1) -> None:
        self.k = k
        self.name = f"hit_at_{k}"
        self.heading = f"hit@{k}"

    def __call__(self, ranks: Ranks) -> Tensor:
        return ranks.or_nan((ranks.total(ranks.within(self.k)) > 0).double())


def many(rows: int = 40) -> tuple[Tensor, Tensor]:
    """Logits, and a target matrix that is likelier where they are high; the last label never is."""
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(rows, 60, generator=generator) * 2 - 3
    target = torch.rand(logits.shape, generator=generator) < (logits - 1).sigmoid()
    target[5] = False
    target[:, -1] = False
    return logits, target


def as_batch(target: Tensor) -> RaggedBatch:
    """Return documents of a word, with these labels."""
    ones = torch.ones(len(target), dtype=torch.long)
    return RaggedBatch(target.sum(1), ones, ones, target.nonzero()[:, 1], target.sum(1))


def fed(logits: Tensor, target: Tensor, sizes, **settings) -> Evaluation:
    """Evaluate documents in batches of these sizes."""
    evaluation = Evaluation(LARGE, True, **settings)
    for x, y in zip(logits.split(sizes), target.split(sizes), strict=True):
        evaluation.update(x, as_batch(y))
    return evaluation


def everything(evaluation: Evaluation) -> dict:
    """Return all results as plain values."""
    micro = evaluation.micro.compute()
    curves = {key: getattr(micro, key).tolist() for key in ("precision", "recall", "f1")}
    return {**evaluation.compute(), "micro": curves, "best": [*micro.best()]}


def on_processes(folder: Path, shares: list[slice], **settings) -> list[dict]:
    """Return what each of several processes computes, each with its share of the documents."""
    given = json.dumps([[share.start, share.stop] for share in shares]), json.dumps(settings)
    found = []
    log = folder / "log.txt"
    with forked(log, "gile_testing.own_metric", folder, 1, *given) as other:
        main(str(folder), "0", *given)
        assert other.wait(120) == 0, log.read_text()
    for rank in range(len(shares)):
        found.append(json.loads((folder / f"{rank}.json").read_text()))
    return found


def main(folder: str, rank: str, shares: str, settings: str) -> None:
    """Evaluate the share of one process with the others."""
    bounds = json.loads(shares)
    torch.distributed.init_process_group(
        "gloo", f"file://{folder}/store", rank=int(rank), world_size=len(bounds)
    )
    try:
        mine = slice(*bounds[int(rank)])
        logits, target = (part[mine] for part in many())
        evaluation = fed(logits, target, 7, **json.loads(settings), added=[HitAt(2)])
        Path(folder, f"{rank}.json").write_text(json.dumps(everything(evaluation)))
    finally:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
