"""Fit a second stage: a cross-encoder that reads each document with its best labels.

python -m gile_lightning.rerank --checkpoint RUN --pretrained NAME
"""

import sys

from lightning.pytorch.cli import LightningArgumentParser

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.options import pop_option
from gile_lightning.commands.parser import command
from gile_lightning.commands.reranking import Settings, fit_reranker
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.errors import InputError
from gile_lightning.systems.reranker import DEPTH
from gile_lightning.training.checkpoint import read_checkpoint
from gile_lightning.training.pair_training import PairTraining

PROGRAM = "python -m gile_lightning.rerank"
DESCRIPTION = (
    "Fit a second stage for a checkpoint (--checkpoint RUN, a file or a run folder): a cross-"
    "encoder is trained on training documents with their best labels, and its score is weighed "
    "against the first stage's on validation documents. It lies beside the checkpoint; predict and "
    "evaluate use it with --rerank. A fit that was stopped goes on with the same command."
)
_DEFAULTS = PairTraining()
_OPTIONS = {
    "pretrained": (str | None, None, "The model to begin with: a folder, or a name at the hub."),
    "steps": (int, _DEFAULTS.steps, "Training steps."),
    "documents": (int, _DEFAULTS.documents, "Documents per step."),
    "pairs": (int, _DEFAULTS.pairs, "Labels per document and step."),
    "lr": (float, _DEFAULTS.lr, "The highest learning rate."),
    "depth": (int, DEPTH, "How many of a document's best labels are ranked anew."),
    "max_subwords": (int | None, None, "Of a document and a label; by default the model's limit."),
    "validation_documents": (int, 500, "That the weights are fitted to, at most."),
}


class RerankCLI(GileCLI):
    """The parser of `rerank`: a checkpoint's configuration, and the keys of the second stage."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add these keys."""
        super().add_arguments_to_parser(parser)
        for key, (kind, default, text) in _OPTIONS.items():
            parser.add_argument(f"--{key}", type=kind, default=default, help=text)


@command
def main(args: list[str] | None = None) -> None:
    """Run the command."""
    args = list(sys.argv[1:] if args is None else args)
    path = pop_option(args, "--checkpoint")
    if path is None:
        if not {"-h", "--help"} & set(args):
            raise InputError("--checkpoint RUN is needed: a checkpoint file or a run folder")
        RerankCLI(args, PROGRAM, DESCRIPTION)
    checkpoint = read_checkpoint(str(path))
    with stored_configuration(checkpoint) as config:
        cli = RerankCLI(
            ["--config", config, "--trainer.logger", "false", *args], PROGRAM, DESCRIPTION
        )
    given = cli.config
    if given.pretrained is None:
        raise InputError("--pretrained NAME is needed: the model to begin with, or its folder")
    training = PairTraining(given.steps, given.documents, given.pairs, given.lr)
    settings = Settings(
        given.pretrained, training, given.depth, given.max_subwords, given.validation_documents
    )
    fit_reranker(cli, str(path), checkpoint, settings)


if __name__ == "__main__":
    main()
