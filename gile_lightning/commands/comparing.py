"""Whether two systems that were tested on the same documents differ by more than chance."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.comparison import Comparison, Difference, Extreme
from gile_lightning.commands.scoring import run_test
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.metrics.bootstrap import Pair, paired_bootstrap
from gile_lightning.metrics.document_scores import LabelPrecisions, Terms, figure
from gile_lightning.metrics.evaluation import MICRO, REFERENCES
from gile_lightning.metrics.table import AVERAGE_PRECISION, DOCUMENT_METRICS, F1, F1_COLUMNS
from gile_lightning.training.checkpoint import find_checkpoint, read_checkpoint

_HEADINGS = {metric.name: metric.heading for metric in DOCUMENT_METRICS}
_HEADINGS[F1] = f"micro-{F1_COLUMNS[F1]}"
_PROGRAM = "python -m gile_lightning.compare"
# which has all test documents
_ONE_PROCESS = ("--trainer.devices", "1", "--trainer.num_nodes", "1")
_LABEL_DOCUMENTS = 3  # the least number of documents of a label that is shown


class Scored(NamedTuple):
    """N test documents of one task, scored by one system.

    Attributes:
        terms: what each document contributes to the figures.
        candidates: the names of the labels of each candidate set.
        gold: the names of the labels of each document.
        labels: by name, for each document that has the label: the precision among the labels that
            are scored at least as high, which average precision is the mean of.
    """

    terms: Terms
    candidates: dict[str, frozenset[str]]
    gold: list[frozenset[str]]
    labels: dict[str, list[float]]


def scored(run: str) -> dict[str, Scored]:
    """Score every test document of a run: results by language.

    Args:
        run: a checkpoint file, or a run folder for its best one.

    Raises:
        InputError: there is no checkpoint, or its documents are gone.
    """
    checkpoint = read_checkpoint(run, "RUN")
    with stored_configuration(checkpoint) as config:
        cli = GileCLI(
            ["--config", config, *_ONE_PROCESS, "--trainer.logger", "false"],
            _PROGRAM,
            "Score a checkpoint.",
        )
    model = cli.model
    kept: dict[str, LabelPrecisions] = {}

    def observe(name: str, logits: Tensor, documents: RaggedBatch, log_odds: Tensor) -> None:
        if name not in kept:
            columns = model.evaluation(name).columns
            whole = columns.get("all", columns["seen"])
            kept[name] = LabelPrecisions(model.tasks[name].labels, *whole)
        kept[name].update(logits, documents)

    model.observer = observe
    say(run)
    run_test(cli, checkpoint)
    return {
        name: Scored(
            model.documents[name].terms,
            _candidates(model.tasks[name].labels.names, model.evaluation(name).columns),
            found.gold,
            dict(found.precisions),
        )
        for name, found in kept.items()
    }


def _candidates(
    names: Sequence[str], columns: dict[str, tuple[int, int]]
) -> dict[str, frozenset[str]]:
    """Return the names of the labels of each candidate set; micro-F1 is of all that are scored."""
    found = {key: part for key, part in columns.items() if key not in REFERENCES}
    found[MICRO] = columns.get("all", columns["seen"])
    return {key: frozenset(names[start:stop]) for key, (start, stop) in found.items()}


def compare_runs(
    first: Sequence[str], second: Sequence[str], resamples: int = 10_000, most: int = 5
) -> Comparison:
    """Compare two systems on the same test documents.

    A system is one run, or several of different seeds, whose figures are averaged. So the
    intervals are of the choice of documents; the spread of the runs stands beside.

    Args:
        first: runs of one system: checkpoint files or run folders.
        second: runs of the other one.
        resamples: draws of the bootstrap, see `paired_bootstrap`.
        most: how many documents and labels to give where the systems differ most, each way.

    Raises:
        InputError: the runs were not tested on the same documents.
    """
    names = [*first, *second]
    for name in names:
        if not name.strip():
            raise InputError(f"{','.join(names)}: give a run before and after each comma")
        find_checkpoint(name, "RUN")  # before the first one is scored
    runs = [scored(run) for run in names]
    compared = Comparison([], [], [], [])
    for language in dict.fromkeys(language for run in runs for language in run):
        if not all(language in run for run in runs):
            compared.left_out.append(f"{language}: not every run has it")
            continue
        own = []
        for name, run in zip(names, runs, strict=True):
            if run[language].gold != runs[0][language].gold:
                raise InputError(
                    f"{names[0]} and {name} were tested on different documents ({language}): give "
                    "both the same corpus, split and labels"
                )
            own.append(run[language])
        _compare(language, own[: len(first)], own[len(first) :], resamples, most, compared)
    if not compared.differences:
        raise InputError(f"nothing to compare: {'; '.join(compared.left_out)}")
    return compared


def _compare(
    language: str,
    first: Sequence[Scored],
    second: Sequence[Scored],
    resamples: int,
    most: int,
    compared: Comparison,
) -> None:
    """Add what is known of one language to a comparison."""
    both = [*first, *second]
    keys = dict.fromkeys(key for run in both for key in run.terms)
    for key in keys:
        if any(key not in run.terms for run in both):
            compared.left_out.append(f"{language}, {key}: not every run ranks them")
            continue
        # micro-F1 counts labels that a system does not score as missed
        if key != MICRO and len({run.candidates[key] for run in both}) > 1:
            sizes = " and ".join(f"{len(run.candidates[key]):,}" for run in both)
            compared.left_out.append(f"{language}, {key}: not the same labels ({sizes})")
            continue
        counted = [next(iter(run.terms[key].values()))[:, 1] for run in both]
        if key != MICRO and any(not some.equal(counted[0]) for some in counted):
            compared.left_out.append(f"{language}, {key}: not the same documents count")
            continue
        for metric in both[0].terms[key]:
            sides = [[run.terms[key][metric] for run in side] for side in (first, second)]
            if not all(terms[:, 1].any() for side in sides for terms in side):
                break
            count = len(counted[0]) if key == MICRO else int(counted[0].sum())
            first_figures, second_figures = (
                [100 * figure(terms) for terms in side] for side in sides
            )
            interval = paired_bootstrap([Pair(sides[0], sides[1])], resamples).percent
            row = (language, key, count, _HEADINGS[metric], first_figures, second_figures, interval)
            compared.differences.append(Difference(*row))
    if len({run.candidates[MICRO] for run in both}) > 1:
        compared.left_out.append(
            f"{language}, documents and labels that differ most: not the same labels are ranked"
        )
        return
    compared.documents.extend(_documents(language, first, second, most))
    compared.labels.extend(_labels(language, first, second, most))


def _whole(run: Scored) -> str:
    """Return the set of all candidates; where no label is unseen, the seen ones are all."""
    return "all" if "all" in run.terms else "seen"


def _documents(
    language: str, first: Sequence[Scored], second: Sequence[Scored], most: int
) -> list[Extreme]:
    """Return the documents whose average precision differs most, best for the second first."""
    name = AVERAGE_PRECISION.name
    means = [
        torch.stack([run.terms[_whole(run)][name][:, 0] for run in side]).mean(0)
        for side in (first, second)
    ]
    difference = 100 * (means[1] - means[0])  # 0 of a document that does not count
    order = [i for i in difference.argsort(descending=True).tolist() if difference[i]]
    gold = first[0].gold
    return [
        Extreme(language, f"{i + 1}: {', '.join(sorted(gold[i]))}", float(difference[i]))
        for i in (order[place] for place in _ends(len(order), most))
    ]


def _labels(
    language: str, first: Sequence[Scored], second: Sequence[Scored], most: int
) -> list[Extreme]:
    """Return the labels whose mean precision differs most, best for the second first."""

    def mean(side: Sequence[Scored], label: str) -> float:
        values = [value for run in side for value in run.labels[label]]
        return 100 * sum(values) / len(values)

    both = [*first, *second]
    counts = {label: len(values) for label, values in first[0].labels.items()}
    common = [
        label
        for label, count in counts.items()
        if count >= _LABEL_DOCUMENTS and all(label in run.labels for run in both)
    ]
    found = [
        Extreme(language, label, mean(second, label) - mean(first, label), counts[label])
        for label in common
    ]
    found = sorted((x for x in found if x.difference), key=lambda extreme: -extreme.difference)
    return [found[place] for place in _ends(len(found), most)]


def _ends(count: int, most: int) -> list[int]:
    """Return the places of the first and the last of ``count`` items, none twice."""
    return [i for i in range(count) if i < most or i >= count - most]
