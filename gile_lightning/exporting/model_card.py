"""The card of a model: a README.md whose front matter the Hugging Face hub reads."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

import gile_lightning
from gile_lightning.common.errors import InputError
from gile_lightning.data.language_name import code_of
from gile_lightning.data.shards.fingerprint import hash_of
from gile_lightning.metrics.evaluation import CANDIDATES, MICRO
from gile_lightning.metrics.table import COUNTS, ECE, F1, ranking_columns
from gile_lightning.training.checkpoint import HPARAMS, STATE

_OF_SETS = {"seen": "labels seen in training", "unseen": "labels unseen in training"}


@dataclass(frozen=True)
class Licence:
    """The licence of a model, as the fields of a card have it.

    Attributes:
        id: an identifier of the hub, such as apache-2.0; ``unknown``, or ``other``.
        name: of another licence.
        link: to its text.
    """

    id: str = "unknown"
    name: str | None = None
    link: str | None = None

    def __post_init__(self) -> None:
        if (self.id == "other") != (self.name is not None):
            raise InputError(
                "a licence without an identifier at the hub has license other and a license_name: "
                "give both, or an identifier such as apache-2.0 alone"
            )

    def fields(self) -> dict[str, str]:
        """Return the fields of the card."""
        fields = {"license": self.id, "license_name": self.name, "license_link": self.link}
        return {key: value for key, value in fields.items() if value is not None}

    @property
    def text(self) -> str:
        """What the card says of it."""
        if self.id == "unknown":
            return "Whoever exported the model named no licence. Ask before you use it."
        link = "" if self.link is None else f": {self.link}"
        return f"{self.name or self.id}{link}"


def model_card(
    checkpoint: Mapping[str, Any],
    metrics: Mapping[str, Any] | None,
    title: str,
    licence: Licence,
    usage: str,
) -> str:
    """Return the card of a model, in Markdown.

    Args:
        checkpoint: as `read_checkpoint` returns it.
        metrics: of its test, as in ``metrics.json``; None where they are unknown.
        title: the name of the model.
        licence: of the model.
        usage: a section that says how to use it, with its heading.
    """
    state = checkpoint[STATE]
    corpus = _corpus(state)
    head = {
        "language": sorted({code for name in state["tasks"] if (code := code_of(name))}),
        "library_name": "gile_lightning",
        **licence.fields(),
        "pipeline_tag": "text-classification",
        "tags": ["gile", "multi-label", "zero-shot-classification"],
        **_model_index(title, corpus, metrics or {}),
    }
    front = yaml.safe_dump(
        {key: value for key, value in head.items() if value}, sort_keys=False, allow_unicode=True
    )
    sections = (
        f"---\n{front}---\n\n# {' '.join(title.split())}",
        _about(checkpoint),
        usage,
        *_scores(metrics, corpus),
        _data(state, corpus),
        f"## Licence\n\n{licence.text}\n\nThe vocabulary and the texts of the labels come from the "
        "training data, whose licence may ask for more.",
    )
    return "\n\n".join(sections) + "\n"


def data_fingerprint(state: Mapping[str, Any]) -> str:
    """Return a hash of what a model knows of its training data.

    That are vocabularies and how texts are split into words, and the labels with their texts and
    numbers of training documents. It does not depend on files and machines.
    """
    return hash_of({"tasks": state["tasks"]})


def _about(checkpoint: Mapping[str, Any]) -> str:
    state, arguments = checkpoint[STATE], checkpoint[HPARAMS]
    system = state["class_path"].rpartition(".")[2]
    parts = [
        f"{key} `{spec['class_path'].rpartition('.')[2]}`"
        for key in ("encoder", "label_encoder", "output")
        if isinstance(spec := arguments.get(key), Mapping) and "class_path" in spec
    ]
    made_of = f", with {', '.join(parts).replace('_', ' ')}" if parts else ""
    return (
        "This model assigns labels from a taxonomy to texts. It was exported from gile_lightning "
        f"{gile_lightning.__version__}: a `{system}`{made_of}. GILE is the generalized input-label "
        "embedding of Pappas and Henderson ([TACL 2019](https://aclanthology.org/Q19-1009/))."
    )


def _corpus(state: Mapping[str, Any]) -> str:
    """Return the name of the class that read the corpus, or of the corpus in the package."""
    data = (yaml.safe_load(state["config"]) or {}).get("data")
    if not isinstance(data, Mapping) or "class_path" not in data:
        return "unknown"
    name = str(data["class_path"]).rpartition(".")[2]
    builtin = (data.get("init_args") or {}).get("path", "") is None
    return f"{name}, the corpus in the package" if builtin else name


def _data(state: Mapping[str, Any], corpus: str) -> str:
    rows = []
    for name, task in state["tasks"].items():
        labels = task["labels"]
        seen = sum(frequency > 0 for frequency in labels["frequencies"])
        words = task["vocabulary"].count("\n") + 1
        numbers = labels["documents"], seen, len(labels["names"]) - seen, words
        rows.append([name, *(f"{number:,}" for number in numbers)])
    heads = ["language", "training documents", "labels seen", "labels unseen", "words"]
    return (
        f"## Training data\n\nRead as {corpus}. Data fingerprint: `{data_fingerprint(state)}`, a "
        "hash of the vocabulary, the labels' texts and their numbers of training documents.\n\n"
        f"{_table(heads, rows)}"
    )


def _scores(metrics: Mapping[str, Any] | None, corpus: str) -> Iterator[str]:
    """Yield the sections of scores and of calibration."""
    if not metrics or not any(key.startswith("test.") for key in metrics):
        yield "## Scores\n\nThe scores of this model on test documents are unknown."
        return
    columns = {key: title for key, title in ranking_columns().items() if key != ECE}
    rows = [
        [name, *(_cell(key, metrics.get(f"test.{name}.{key}")) for key in columns)]
        for name in CANDIDATES
        if f"test.{name}.documents" in metrics
    ]
    f1, threshold = (metrics.get(f"test.{MICRO}.{key}") for key in (F1, "threshold"))
    micro = ""
    if f1 is not None and threshold is not None:
        micro = f"\n\nMicro-F1 at the threshold {threshold:.2f}: {_cell(F1, f1)}."
    yield (
        "## Scores\n\nOn the test documents of its corpus, in per cent; the average over "
        f"languages if it has several.\n\n{_table(['labels', *columns.values()], rows)}{micro}"
    )
    errors = [
        f"{_cell(ECE, metrics[f'test.{name}.{ECE}'])} for {_OF_SETS[name]}"
        for name in _OF_SETS
        if f"test.{name}.{ECE}" in metrics
    ]
    if errors:
        yield (
            "## Probabilities\n\nExpected calibration error of the ten best labels of a test "
            f"document, in per cent: {', '.join(errors)}. Probabilities hold for texts like those."
        )


def _model_index(title: str, corpus: str, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores as the hub reads them, as fractions."""
    names = ranking_columns()
    results = []
    for key in (*CANDIDATES, MICRO):
        columns = {F1: "micro-F1"} if key == MICRO else names
        found = [
            {"type": metric, "value": value, "name": heading}
            for metric, heading in columns.items()
            if metric not in COUNTS
            and isinstance(value := metrics.get(f"test.{key}.{metric}"), int | float)
            and math.isfinite(value)
        ]
        if found:
            dataset = {
                "name": corpus,
                "type": corpus.partition(",")[0].lower(),
                "config": key,
                "split": "test",
            }
            task = {"type": "text-classification", "name": "multi-label classification"}
            results.append({"task": task, "dataset": dataset, "metrics": found})
    return {"model-index": [{"name": title, "results": results}]} if results else {}


def _cell(key: str, value: Any) -> str:
    if not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    return f"{value:,}" if key in COUNTS else f"{100 * value:.2f}"


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
