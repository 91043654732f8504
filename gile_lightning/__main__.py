"""Run a command, or list the commands."""

import sys
from importlib import import_module

from gile_lightning.common.errors import InputError, nearest

COMMANDS = {
    "fit": "train one model, test its best checkpoint, leave a run folder",
    "evaluate": "score a checkpoint on seen, unseen and all labels",
    "compare": "say whether two runs differ by more than chance",
    "predict": "label new texts, also with labels that did not exist at training time",
    "rerank": "fit a second stage: a cross-encoder over the best labels of a document",
    "prepare": "only the data step: raw corpus to encoded shards",
    "sweep": "search for the best settings: a study of many fits",
    "low_resource": "train on ever larger parts of one language's documents",
    "dashboard": "make a page of a W&B project that shows its runs side by side",
    "reproduce": "run a table of the paper and print it beside the published figures",
    "export": "take a trained model elsewhere: a folder for the Hugging Face hub, or ONNX",
    "import_weights": "turn the authors' released Keras weights into a checkpoint",
}


def main(args: list[str] | None = None) -> None:
    """Run a command with its arguments; without a command, list them or print a script."""
    name, *rest = (sys.argv[1:] if args is None else args) or ["--help"]
    if name in COMMANDS:
        import_module(f"gile_lightning.{name}").main(rest)
    else:
        _other(name, rest)


def _other(name: str, rest: list[str]) -> None:
    from gile_lightning.commands.parser import command  # so that the list is there at once

    @command
    def run(args: list[str]) -> None:
        if name == "--completion":
            from gile_lightning.commands.completion import completion

            print(completion(rest[0] if rest else "", COMMANDS))
        elif name in ("-h", "--help"):
            print("Commands, each with --help:")
            for known, text in COMMANDS.items():
                print(f"  python -m gile_lightning.{known:14} {text}")
        else:
            remedy = nearest(name, COMMANDS) or f"; there are {', '.join(COMMANDS)}"
            raise InputError(f"there is no command {name!r}{remedy}")

    run(rest)


if __name__ == "__main__":
    main()
