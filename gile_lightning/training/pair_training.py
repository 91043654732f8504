"""Training of a cross-encoder on documents and their best labels."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from gile_lightning.common.errors import DivergedError, positive
from gile_lightning.common.progress import Progress
from gile_lightning.data.pretrained.cross_encoder import Pair

KEPT_EVERY = 10  # steps between two calls that keep the state

State = dict[str, Any]


@dataclass(frozen=True)
class PairTraining:
    """How a cross-encoder is trained: binary cross-entropy of single pairs, by AdamW.

    A step has some documents, with some of their best labels each: half of them right ones at most,
    if the document has as many, and wrong ones. The k-th best label is drawn as a wrong one with
    a weight of 1/k, since the best ones are hardest to tell apart. The learning rate rises during
    the first tenth of the steps, and falls to 0.

    What a step draws depends on the seed and its number alone. So training that was stopped goes on
    to the same result.

    Attributes:
        steps: of training.
        documents: per step.
        pairs: per document.
        lr: the highest learning rate.
        seed: of the draws.
    """

    steps: int = 500
    documents: int = 8
    pairs: int = 8
    lr: float = 5e-5
    seed: int = 1234

    def __post_init__(self) -> None:
        positive(**asdict(self) | {"seed": 1})

    def rate(self, step: int) -> float:
        """Return the share of the highest learning rate that a step has."""
        warm = max(1, self.steps // 10)
        if step < warm:
            return (step + 1) / warm
        return (self.steps - step) / max(1, self.steps - warm)

    def rows(self, step: int, size: int) -> list[int]:
        """Return the documents of a step, of ``size`` in all: pass after pass, in a new order."""
        places = range(step * self.documents, (step + 1) * self.documents)
        orders: dict[int, NDArray[np.int64]] = {}
        for number in {place // size for place in places}:
            orders[number] = np.random.default_rng((self.seed, number)).permutation(size)
        return [int(orders[place // size][place % size]) for place in places]

    def draw(self, step: int, correct: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Draw a document's labels for a step, as places among its best labels.

        Args:
            step: the number of the step; the documents of a step draw alike.
            correct: which of the labels, best first, are right [J].
        """
        generator = np.random.default_rng((self.seed, step, 1))
        right, wrong = np.flatnonzero(correct), np.flatnonzero(~correct)
        right = generator.permutation(right)[: max(1, self.pairs // 2)]
        count = min(self.pairs - len(right), len(wrong))
        if not count:
            return right
        weights = 1 / (wrong + 1)
        drawn = generator.choice(wrong, count, replace=False, p=weights / weights.sum())
        return np.concatenate([right, drawn])


def train_pairs(
    encoder: nn.Module,
    texts: Sequence[str],
    labels: Sequence[str],
    ids: Tensor,
    correct: Tensor,
    training: PairTraining,
    state: State | None,
    keep: Callable[[State], None],
) -> list[float]:
    """Train a cross-encoder; returns the loss of every step.

    Args:
        encoder: scores pairs of texts, with gradients: [N].
        texts: of D documents.
        labels: the texts of all labels.
        ids: the best labels of the documents, best first [D, J].
        correct: whether the documents have them [D, J].
        training: how.
        state: what ``keep`` was given last, to go on from.
        keep: called every 10 steps, and after the last one.

    Raises:
        DivergedError: the loss is no number.
    """
    parameters = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=training.lr)
    losses: list[float] = []
    if state is not None:
        encoder.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        losses = list(state["losses"])
    encoder.train()
    right = correct.numpy()

    def mean_loss() -> str:
        return f"loss {np.mean(losses[-20:]):.3f}"

    left = training.steps - len(losses)
    with Progress("cross-encoder", left, "steps", describe=mean_loss) as shown:
        for step in range(len(losses), training.steps):
            pairs: list[Pair] = []
            targets: list[bool] = []
            for row in training.rows(step, len(texts)):
                places = training.draw(step, right[row])
                pairs += [(texts[row], labels[int(ids[row, place])]) for place in places]
                targets += right[row, places].tolist()
            for group in optimizer.param_groups:
                group["lr"] = training.lr * training.rate(step)
            with torch.random.fork_rng():
                torch.manual_seed(training.seed + step)  # of dropout
                scores = encoder(pairs)
            loss = F.binary_cross_entropy_with_logits(scores, scores.new_tensor(targets))
            if not loss.isfinite():
                raise DivergedError(f"the loss of the cross-encoder in step {step + 1}")
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            losses.append(float(loss.detach()))
            shown.advance()
            if len(losses) % KEPT_EVERY == 0 or len(losses) == training.steps:
                keep(
                    {
                        "model": encoder.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "losses": losses,
                    }
                )
    return losses
