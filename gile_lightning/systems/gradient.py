"""Training by gradients: optimizer, learning rate, clipping."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Encoder
from gile_lightning.systems.system import System
from gile_lightning.training.exchange import average_sparse_gradients, broadcast_parameters
from gile_lightning.training.optimizers import clip_gradients, refusal
from gile_lightning.training.schedules import Schedule

Adam = partial(torch.optim.Adam, lr=1e-3, fused=True)


class GradientSystem(System):
    """A system whose ``training_step`` returns a loss, for an optimizer to follow.

    Args:
        optimizer: makes the optimizer (paper: Adam).
        schedule: changes the learning rate in training; by default it is constant (paper).
        kwargs: see `System`.
    """

    def __init__(
        self,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = Adam,
        schedule: Schedule | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.optimizer_factory = optimizer
        self.schedule = schedule
        self._rates: list[float] = []  # of the groups of parameters, as configured

    def sparse_parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters whose gradients are sparse, by their names."""
        return {}

    def check(
        self,
        names: Iterable[str] = ("text",),
        tokenizer: Tokenizer | None = None,
        epochs: int | None = None,
    ) -> None:
        """Make an optimizer, and try the schedule; see `System.check`."""
        super().check(names, tokenizer, epochs)
        if self.schedule is not None and epochs is not None:
            self.schedule.check(epochs)
        self._optimizer([nn.Parameter(torch.zeros(1))])

    def check_sparse(self, sparse: bool) -> None:
        """Refuse an optimizer that cannot follow sparse gradients.

        Raises:
            InputError: it cannot, and the gradients are sparse.
        """
        if sparse and (reason := refusal(self.optimizer_factory)):
            raise InputError(
                f"model.optimizer cannot take the sparse gradient of the embedding ({reason}): set "
                "--model.optimizer gile_lightning.training.optimizers.LazyAdam, or "
                "--model.embedding.sparse false"
            )

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer of all trainable parameters.

        Raises:
            InputError: its settings are wrong.
        """
        if self.schedule is not None:
            self.schedule.check(self._last_epoch(1))
        optimizer = self._optimizer(self._groups())
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        self._rates = [group["lr"] for group in optimizer.param_groups]
        # a gradient scaler unscales before gradients are clipped, where a fused step would do it
        optimizer._step_supports_amp_scaling = False  # type: ignore[attr-defined]
        return optimizer

    def _groups(self) -> list[dict[str, Any]]:
        """Return the trainable parameters, apart for encoders with a learning rate of their own."""
        rest = {id(p): p for p in self.parameters() if p.requires_grad}
        groups = []
        for part in self.modules():
            if isinstance(part, Encoder) and part.lr is not None:
                own = [rest.pop(id(p)) for p in part.parameters() if id(p) in rest]
                groups += [{"params": own, "lr": part.lr}] if own else []
        return [{"params": list(rest.values())}, *groups]

    def _optimizer(self, parameters: list[Any]) -> torch.optim.Optimizer:
        try:
            return self.optimizer_factory(parameters)
        except ValueError as error:  # such as a learning rate below 0
            raise InputError(f"model.optimizer: {error}") from error

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients, dense and sparse; Lightning calls it with the trainer's settings."""
        if gradient_clip_val:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            by_value = gradient_clip_algorithm == "value"
            clip_gradients(parameters, gradient_clip_val, "value" if by_value else "norm")

    def on_train_start(self) -> None:
        """Begin with the same weights in all processes, also those that DDP leaves alone.

        A resumed run has the learning rate of its configuration, if it is another one now.
        """
        super().on_train_start()
        for optimizer in self.trainer.optimizers:
            for group, rate in zip(optimizer.param_groups, self._rates, strict=True):
                if (before := group["initial_lr"]) != rate:
                    say(f"learning rate {rate:g} in place of the checkpoint's {before:g}")
                    group["initial_lr"] = group["lr"] = rate
                # the run of the checkpoint may have had a schedule
                if not self.trainer.lr_scheduler_configs and group["lr"] != rate:
                    say(
                        f"learning rate {rate:g}, where the checkpoint's schedule was at "
                        f"{group['lr']:g}"
                    )
                    group["lr"] = rate
        if self.trainer.world_size > 1:
            broadcast_parameters(self.sparse_parameters().values())

    def on_after_backward(self) -> None:
        """Exchange sparse gradients with the other processes, when DDP exchanges dense ones.

        That is not after each batch of those whose gradients are gathered. It is before gradients
        are unscaled (fp16), so that all processes see what is not finite in one of them.
        """
        exchanges = getattr(self.trainer.strategy.model, "require_backward_grad_sync", True)
        if self.trainer.world_size > 1 and exchanges and (sparse := self.sparse_parameters()):
            average_sparse_gradients(list(sparse.values()))

    def _last_epoch(self, steps: int) -> float:
        """Return the epochs of the whole training, of so many steps each; below 0 for no end."""
        epochs: float = self.trainer.max_epochs or 0
        if self.trainer.max_steps < 1:
            return epochs
        limit = self.trainer.max_steps / steps
        return min(epochs, limit) if epochs > 0 else limit

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Set the learning rate and the seed of dropout, which depend on the batch's place."""
        if self.schedule is not None:
            batches = self.trainer.num_training_batches
            done = self.current_epoch + (batch_idx + 1) / batches
            last = self._last_epoch(math.ceil(batches / self.trainer.accumulate_grad_batches))
            for optimizer in self.trainer.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = group["initial_lr"] * self.schedule(done, last)
        if any(isinstance(part, nn.Dropout) and part.p for part in self.modules()):
            torch.manual_seed(self.generator(next(iter(self.tasks)), batch_idx).initial_seed())
