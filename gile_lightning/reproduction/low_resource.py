"""The low-resource protocol: fits on ever larger parts of one language's documents."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.launcher import FIT, LOG, Launcher, exit_reason, lock, tail
from gile_lightning.commands.options import option, options
from gile_lightning.commands.run_folder import METRICS, read_metrics
from gile_lightning.commands.shipped import check_unchanged, read_configuration, texts_of
from gile_lightning.common import processes
from gile_lightning.common.console import complain, say, show
from gile_lightning.common.errors import InputError, nearest
from gile_lightning.common.files import write
from gile_lightning.data import Multilingual
from gile_lightning.metrics import paper_threshold

LEVELS = {
    "tiny": (0.001, 0.002, 0.003, 0.004, 0.005),
    "small": (0.01, 0.02, 0.03, 0.04, 0.05),
    "medium": (0.1, 0.2, 0.3, 0.4, 0.5),
}
"""Shares of the target language's training documents, by level (paper, section 4.2, Table 7)."""

_OWN = ("--data.train_share", "--model.threshold", "--test")
PROGRAM = FIT
RESULT = "low_resource.json"


def run_levels(
    args: list[str], language: str, levels: Sequence[str], output: Path
) -> dict[str, Any]:
    """Run the fits of the levels that are not done, and print their scores.

    Args:
        args: the arguments of `fit`, without the run folder.
        language: the target language.
        levels: names of `LEVELS`.
        output: the folder of the run folders and of ``low_resource.json``.

    Returns:
        The content of ``low_resource.json``: the micro-F1 of each share that is done in the folder,
        and the mean of each level.

    Raises:
        InputError: there is no such level or language, the folder holds runs with other arguments
            or configurations, or a configuration was changed meanwhile.
    """
    for level in levels:
        if level not in LEVELS:
            known = ", ".join(LEVELS)
            raise InputError(f"--levels: {level!r} is none of {known}{nearest(level, LEVELS)}")
    for key in _OWN:
        if option(args, key) is not None:
            raise InputError(f"{key}: low_resource sets it itself; leave it out")
    _check_language(args, language)
    texts = texts_of(options(args, "--config", "-c"))
    contents = [*map(read_configuration, texts)]
    _keep_arguments(output, {"language": language, "arguments": args, "configurations": contents})
    folders = {x: output / f"share-{x:g}" for level in levels for x in LEVELS[level]}
    launcher = Launcher(threads=processes.threads(1))

    def work(slot: int) -> None:
        for share, folder in folders.items():
            check_unchanged(texts, "undo the change, or choose another --output")
            _run(launcher, args, language, share, folder)

    launcher.run(work)
    every = {x: output / f"share-{x:g}" for shares in LEVELS.values() for x in shares}
    done = {share: folder for share, folder in every.items() if (folder / METRICS).is_file()}
    scores = {share: _score(folder, language) for share, folder in done.items()}
    means = average_per_level(scores)
    result = {"language": language, "f1": {f"{k:g}": v for k, v in scores.items()}, "mean": means}
    write(output / RESULT, json.dumps(result, indent=1))
    show(_table(scores, means), output=output, **result)
    return result


def average_per_level(scores: Mapping[float, float]) -> dict[str, float]:
    """Average the scores of each level whose shares all have one."""
    complete = {k: shares for k, shares in LEVELS.items() if set(shares) <= scores.keys()}
    return {k: float(np.mean([scores[s] for s in shares])) for k, shares in complete.items()}


def _check_language(args: list[str], language: str) -> None:
    """Refuse a language that the corpus lacks, and a corpus of one language."""
    if option(args, "--start_from") is not None:
        return  # the configuration is in a checkpoint, which `fit` checks
    program = "python -m gile_lightning.low_resource"
    data = GileCLI([*args, "--trainer.logger", "false"], program, "").datamodule
    if not isinstance(data, Multilingual):
        raise InputError(
            f"{type(data).__name__} is a corpus of one language, and low_resource needs several: "
            "give --data gile_lightning.data.DW or gile_lightning.data.Multilingual"
        )
    if language not in data.names:
        known = ", ".join(data.names)
        near = nearest(language, data.names)
        raise InputError(f"--language: {language!r} is none of {known}{near}")


def _keep_arguments(output: Path, arguments: dict[str, Any]) -> None:
    """Write the arguments into the folder; refuse a folder that holds runs with others.

    Folders of earlier versions do not tell the configurations.
    """
    file = output / "arguments.json"
    arguments = json.loads(json.dumps(arguments, default=str))  # as the file has them
    if file.is_file() and arguments != arguments | json.loads(file.read_text()):
        raise InputError(
            f"{output}: holds runs with other arguments ({file}); choose another --output"
        )
    if not file.is_file():
        write(file, json.dumps(arguments))


def _run(launcher: Launcher, args: list[str], language: str, share: float, folder: Path) -> None:
    """Run a fit, unless it is done."""
    if (folder / METRICS).is_file():
        return
    say(f"{100 * share:g} % of {language}: {folder / LOG}")
    arguments = [*args, "--data.train_share", json.dumps({language: share})]
    arguments += ["--model.threshold", str(paper_threshold(0, low_resource=True)), "--test", "true"]
    held = lock(folder)
    if held is None:
        raise InputError(f"{folder}: another command runs this fit; choose another --output")
    with held:
        status = launcher.fit(0, folder, arguments, held, PROGRAM)
    if not (folder / METRICS).is_file():
        complain(f"{tail(folder)}\nfailed: {exit_reason(status)} ({folder / LOG})")
        sys.exit(1)


def _score(folder: Path, language: str) -> float:
    """Return the micro-F1 of a run at the epoch that is best for the target language."""
    metrics = read_metrics(folder)
    key = "test.micro.f1"
    own = f"{language}.own_epoch.{key}"
    return float(metrics[own if own in metrics else key])


def _table(scores: Mapping[float, float], means: Mapping[str, float]) -> str:
    lines = ["level   share of training documents: micro-F1", "-" * 46]
    for level, mean in means.items():
        each = "  ".join(f"{100 * s:g} %: {100 * scores[s]:.2f}" for s in LEVELS[level])
        lines.append(f"{level:6}  {each}  mean: {100 * mean:.2f}")
    return "\n".join(lines)
