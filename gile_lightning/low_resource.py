"""The low-resource protocol: train on ever larger parts of one language's documents.

python -m gile_lightning.low_resource --config sweeps/dw.yaml --language german --output DIR
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gile_lightning.commands.cli import pop_option
from gile_lightning.commands.launcher import FIT, LOG, Launcher, lock, tail, told
from gile_lightning.commands.parser import command
from gile_lightning.common import processes
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError, nearest
from gile_lightning.metrics import paper_threshold

LEVELS = {
    "tiny": (0.001, 0.002, 0.003, 0.004, 0.005),
    "small": (0.01, 0.02, 0.03, 0.04, 0.05),
    "medium": (0.1, 0.2, 0.3, 0.4, 0.5),
}
"""Shares of the target language's training documents (paper, section 4.2, Table 7)."""

PROGRAM, METRICS = FIT, "metrics.json"

DESCRIPTION = """usage: python -m gile_lightning.low_resource --language TARGET --output OUTPUT \
[--levels tiny,small,medium] [what fit takes]

Trains the model of a configuration on 0.1 to 0.5 (tiny), 1 to 5 (small) and 10 to 50 % (medium) of
the target language's training documents, all documents of the other languages beside them, and
prints its micro-F1 at the threshold 0.3, averaged per level (paper, Table 7). Smaller parts are
subsets of larger ones. A run that is done is not repeated; one that was cut off is continued.
What a run prints is in the log.txt of its folder."""


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns what `low_resource.json` holds."""
    args = list(sys.argv[1:] if args is None else args)
    if {"-h", "--help"} & set(args):
        print(DESCRIPTION)
        sys.exit(0)
    # not before --help, which it would keep waiting
    from gile_lightning.common.console import say

    language, output = pop_option(args, "--language"), pop_option(args, "--output")
    levels = (pop_option(args, "--levels") or ",".join(LEVELS)).split(",")
    if language is None or output is None:
        raise InputError("--language TARGET and --output DIR are needed")
    for level in levels:
        if level not in LEVELS:
            known = ", ".join(LEVELS)
            raise InputError(f"--levels: {level!r} is none of {known}{nearest(level, LEVELS)}")
    _check_language(args, language)
    _same_runs(Path(output), {"language": language, "arguments": args})
    folders = {x: Path(output, f"share-{x:g}") for level in levels for x in LEVELS[level]}
    launcher = Launcher(threads=processes.threads(1))

    def work(slot: int) -> None:
        for share, folder in folders.items():
            _run(launcher, args, language, share, folder)

    launcher.run(work)
    scores: dict[float, float] = {}
    for share, folder in folders.items():
        metrics = json.loads((folder / METRICS).read_text())
        key = "test.micro.f1"  # of the epoch that is best for the target language
        own = f"{language}.own_epoch.{key}"
        scores[share] = metrics[own] if own in metrics else metrics[key]
    means = average_per_level(scores)
    result = {"language": language, "f1": {f"{k:g}": v for k, v in scores.items()}, "mean": means}
    (Path(output) / "low_resource.json").write_text(json.dumps(result, indent=1))
    say(_table(scores, means))
    return result


def average_per_level(scores: dict[float, float]) -> dict[str, float]:
    """Average the scores of the shares of each level that is complete."""
    complete = {k: shares for k, shares in LEVELS.items() if set(shares) <= scores.keys()}
    return {k: float(np.mean([scores[s] for s in shares])) for k, shares in complete.items()}


def _check_language(args: list[str], language: str) -> None:
    """Refuse a language that the corpus lacks, and a corpus of no other languages."""
    from gile_lightning.commands.cli import GileCLI, option
    from gile_lightning.data import Multilingual

    if option(args, "--start_from") is not None:
        return  # the configuration is in a checkpoint, of which `fit` says what is wrong
    given = [*args, "--trainer.logger", "false"]
    data = GileCLI(given, "python -m gile_lightning.low_resource", DESCRIPTION).datamodule
    if not isinstance(data, Multilingual):
        raise InputError(
            f"{type(data).__name__} is a corpus of one language; choose one of several "
            "(gile_lightning.data.DW or Multilingual) to train on part of one beside the others"
        )
    if language not in data.names:
        known = ", ".join(data.names)
        near = nearest(language, data.names)
        raise InputError(f"--language: {language!r} is none of {known}{near}")


def _same_runs(output: Path, given: dict[str, Any]) -> None:
    """Refuse a folder that holds the runs of other arguments."""
    file = output / "arguments.json"
    if file.is_file() and json.loads(file.read_text()) != given:
        raise InputError(
            f"{output}: holds the runs of other arguments ({file}); choose another --output"
        )
    output.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(given))


def _run(launcher: Launcher, args: list[str], language: str, share: float, folder: Path) -> None:
    """Run a fit that is not done."""
    if (folder / METRICS).is_file():
        return
    say(f"{100 * share:g} % of {language}: {folder / LOG}")
    given = [*args, "--data.train_share", json.dumps({language: share})]
    given += ["--model.threshold", str(paper_threshold(0, low_resource=True))]
    held = lock(folder)
    if held is None:
        raise InputError(f"{folder}: another command runs this fit; choose another --output")
    with held:
        status = launcher.fit(0, folder, given, held, PROGRAM)
    if not (folder / METRICS).is_file():
        say(f"{tail(folder)}\nfailed: {told(status)} ({folder / LOG})")
        sys.exit(1)


def _table(scores: dict[float, float], means: dict[str, float]) -> str:
    lines = ["level   share of training documents: micro-F1", "-" * 46]
    for level, mean in means.items():
        each = "  ".join(f"{100 * s:g} %: {100 * scores[s]:.2f}" for s in LEVELS[level])
        lines.append(f"{level:6}  {each}  mean: {100 * mean:.2f}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
