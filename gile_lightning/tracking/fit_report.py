"""What a fit leaves to look at: the tables and curves of W&B, and the same as a page."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from gile_lightning.metrics.evaluation import BUCKETS
from gile_lightning.metrics.summary import Scores
from gile_lightning.tracking import drawings
from gile_lightning.tracking.examples import Confusion, Example, Gold, Predicted
from gile_lightning.tracking.page import page, pictures, table
from gile_lightning.tracking.report import (
    COLUMNS,
    F1_COLUMNS,
    LABEL_COLUMNS,
    ByLanguage,
    f1_rows,
    rows,
)
from gile_lightning.tracking.repository import repository

Table = tuple[list[str], list[list[Any]]]

FREQUENCY = {
    "average_precision": "average precision",
    "precision_at_1": "P@1",
    "ndcg_at_5": "nDCG@5",
}
EXAMPLES = (
    "language",
    "text",
    "gold labels",
    "missed",
    "predicted labels",
    "unseen labels",
    "hits",
)
CONFUSIONS = ("language", "gold label missed", "label in its place", "documents", "share (%)")

# the names of the tables in W&B
RESULTS, OVER_LABELS, F1, BY_FREQUENCY = "results", "over_labels", "f1", "by_frequency"
EXAMPLE_TABLE, CONFUSION_TABLE = "examples", "confusions"
TABLES = (RESULTS, OVER_LABELS, F1, BY_FREQUENCY, EXAMPLE_TABLE, CONFUSION_TABLE)


@dataclass(frozen=True)
class FitReport:
    """All that is shown of a fit, computed once for W&B and for the page.

    Attributes:
        title: name of the run.
        facts: what and when: system, corpus, commit, ...
        figures: those of ``metrics.json`` that are no scores.
        history: the rows of ``metrics.csv``.
        results: scores of the test, averaged over languages.
        by_language: the same of each language.
        own_epochs: the same of each language at its own best epoch.
        examples: documents with what was predicted.
        confusions: pairs of labels.
        sizes: parameters of the parts, by language.
        counts: of the corpus; by language where there are several.
        skipped: what was left out of the corpus, likewise.
        config: the resolved configuration, YAML.
    """

    title: str
    facts: Mapping[str, Any]
    figures: Mapping[str, Any]
    history: Sequence[Mapping[str, float]]
    results: Scores
    by_language: ByLanguage
    own_epochs: ByLanguage
    examples: Sequence[Example]
    confusions: Sequence[Confusion]
    sizes: Mapping[str, Mapping[str, int]]
    counts: Mapping[str, Any]
    skipped: Mapping[str, Any]
    config: str

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables by their names: columns and rows; those without a row are left out."""
        buckets = {name: self.results[name] for name in BUCKETS if name in self.results}
        made: dict[str, Table] = {
            RESULTS: (["labels", *COLUMNS.values()], rows(self.results)),
            OVER_LABELS: (["labels", *LABEL_COLUMNS.values()], rows(self.results, LABEL_COLUMNS)),
            F1: (["micro-F1", *_distinct(F1_COLUMNS)], f1_rows(self.by_language, self.own_epochs)),
            BY_FREQUENCY: (
                ["training documents", *FREQUENCY.values()],
                [
                    [name.removesuffix(" documents"), *_percent(scores)]
                    for name, scores in buckets.items()
                    if scores["documents"]
                ],
            ),
            EXAMPLE_TABLE: ([*EXAMPLES], [_example_row(example) for example in self.examples]),
            CONFUSION_TABLE: (
                [*CONFUSIONS],
                [
                    [c.language, c.gold, c.predicted, c.count, round(100 * c.share, 1)]
                    for c in self.confusions
                ],
            ),
        }
        return {name: (columns, found) for name, (columns, found) in made.items() if found}

    def page(self) -> str:
        """Lay out everything as one HTML page."""
        curves = drawings.curves(self.history, list(self.by_language))
        bars = []
        if BY_FREQUENCY in self.tables:
            bars = [
                drawings.bars(
                    "Seen labels by their training documents (%)", *self.tables[BY_FREQUENCY]
                )
            ]
        sections = [
            ("Run", _pairs({**self.facts, **self.figures})),
            ("Results", self._results()),
            ("Curves", pictures(curves)),
            ("By training documents of the label", pictures(bars) + self._table(BY_FREQUENCY)),
            (
                "Confused labels",
                _CONFUSED + self._table(CONFUSION_TABLE) if self.confusions else "",
            ),
            ("Examples", _LEGEND + "".join(map(_card, self.examples)) if self.examples else ""),
            ("Corpus", self._corpus()),
            ("Parameters", self._parameters()),
            ("Configuration", f"<pre>{html.escape(self.config)}</pre>"),
        ]
        return page(self.title, sections, _NOTE, _STYLE)

    def _table(self, name: str) -> str:
        return table(*_without_empty(*self.tables[name])) if name in self.tables else ""

    def _results(self) -> str:
        if not self.results:
            return ""
        body = "<p>Percentages of the test documents with the best checkpoint. Ranking loss and "
        body += "one-error are better when low, the others when high.</p>"
        body += "".join(self._table(name) for name in (RESULTS, OVER_LABELS, F1))
        if len(self.by_language) > 1:
            columns = ["language", "labels", *COLUMNS.values()]
            found = [
                [name, *row] for name, scores in self.by_language.items() for row in rows(scores)
            ]
            made = table(*_without_empty(columns, found))
            body += f"<details><summary>every language</summary>{made}</details>"
        return body

    def _corpus(self) -> str:
        by_language = {"": self.counts} if "documents" in self.counts else self.counts
        skipped = {"": self.skipped} if "documents" in self.counts else self.skipped
        found = [[name, *_flat(counts).values()] for name, counts in by_language.items()]
        columns = ["language", *_flat(next(iter(by_language.values()), {}))]
        left_out = [
            [name, reason, case["count"], case["first"]]
            for name, cases in skipped.items()
            for reason, case in cases.items()
        ]
        body = table(*_without_empty(columns, found))
        if left_out:
            columns = ["language", "left out", "count", "first"]
            body += table(*_without_empty(columns, left_out))
        return body

    def _parameters(self) -> str:
        parts = dict.fromkeys(key for sizes in self.sizes.values() for key in sizes)
        found = [
            [part, *(sizes.get(part, 0) for sizes in self.sizes.values())]
            for part in parts
            if any(sizes.get(part) for sizes in self.sizes.values())
        ]
        total = f"<p>{int(self.figures['parameters']):,} in all, shared ones counted once.</p>"
        return total + (table(["part", *self.sizes], found) if found else "")


def facts(cli: Any) -> dict[str, Any]:
    """Return what a run is: its system, data, code and machine.

    Args:
        cli: a parsed command line whose data module is set up.
    """
    code, data = repository(), cli.datamodule
    invented = ", invented texts" if data.builtin else ""
    return {
        "system": type(cli.model).__name__,
        "corpus": f"{type(data).__name__}{invented}",
        "languages": ", ".join(data.names),
        "data_fingerprint": data.fingerprint(),
        "commit": None if code is None else code.commit,
        "device": str(cli.trainer.strategy.root_device),
        "processes": cli.trainer.world_size,
        "started": datetime.now(),
    }


def _example_row(example: Example) -> list[Any]:
    labels: list[Gold | Predicted] = [*example.gold, *example.predicted]
    unseen = sorted({label.name for label in labels if label.unseen})
    return [
        example.language,
        example.text,
        "; ".join(label.name for label in example.gold),
        "; ".join(label.name for label in example.gold if not label.hit),
        "; ".join(
            f"{label.name} {label.score:.2f} ({'hit' if label.hit else 'miss'})"
            for label in example.predicted
        ),
        "; ".join(unseen),
        sum(label.hit for label in example.predicted),
    ]


def _percent(scores: Mapping[str, float]) -> list[float]:
    return [round(100 * scores[key], 2) for key in FREQUENCY]


def _distinct(columns: Mapping[str, str]) -> list[str]:
    """Return headings of which none comes twice, which W&B's tables need."""
    found: list[str] = []
    for key, heading in columns.items():
        found.append(key.replace("_", " ") if heading in found else heading)
    return found


def _without_empty(columns: Sequence[str], found: Sequence[Sequence[Any]]) -> Table:
    """Leave out columns without a value, and that of the language where there is but one."""
    kept = [
        i
        for i, column in enumerate(columns)
        if any(row[i] not in ("", None) for row in found)
        and not (column == "language" and len({row[i] for row in found}) == 1)
    ]
    return [columns[i] for i in kept], [[row[i] for i in kept] for row in found]


def _flat(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Put the counts of the splits beside the others."""
    found: dict[str, Any] = {}
    for key, value in counts.items():
        if isinstance(value, Mapping):
            found |= {f"{name} {key}": number for name, number in value.items()}
        else:
            found[key.replace("_", " ")] = value
    return found


def _pairs(values: Mapping[str, Any]) -> str:
    shown = {key.replace("_", " "): _shown(value) for key, value in values.items()}
    cells = (
        f"<div><dt>{html.escape(key)}</dt><dd>{html.escape(value)}</dd></div>"
        for key, value in shown.items()
        if value
    )
    return f"<dl>{''.join(cells)}</dl>"


def _shown(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value or "")


def _card(example: Example) -> str:
    gold = "".join(map(_label, example.gold))
    predicted = "".join(map(_label, example.predicted))
    return (
        f'<article lang="">\n<p>{html.escape(example.text)}</p>\n'
        f"<h4>labels</h4><ul>{gold or '<li>none</li>'}</ul>\n"
        f"<h4>predicted</h4><ul>{predicted or '<li>none</li>'}</ul>\n</article>\n"
    )


def _label(label: Gold | Predicted) -> str:
    kind = ("hit" if label.hit else "miss") + (" unseen" if label.unseen else "")
    mark = "✓" if label.hit else "✗"
    score = f" <b>{label.score:.2f}</b>" if isinstance(label, Predicted) else ""
    return f'<li class="{kind}">{mark} {html.escape(label.name)}{score}</li>'


_NOTE = "A fit of gile_lightning. Everything is in this file; nothing is fetched."
_CONFUSED = (
    "<p>In so many of the first test documents the label on the left is missing among the first "
    "|gold| predictions (as many as the document has labels), while the one on the right wrongly "
    "is there; and their share of the documents that have the left one.</p>"
)
_LEGEND = (
    "<p>The beginnings of some test documents, as the model reads them. ✓ a label that the "
    "document has and that was predicted, ✗ one that was missed, or wrongly predicted; a dashed "
    "frame is a label without a training document. At least five predictions with their scores, "
    "else as many as labels.</p>"
)
_STYLE = """
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .8rem 1.4rem;
  margin: 0; }
dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-variant-numeric: tabular-nums; }
article { border: 1px solid var(--line); border-radius: 8px; padding: .7rem 1rem .8rem;
  margin: .8rem 0; }
article p { margin: 0 0 .5rem; max-width: none; }
article h4 { font-size: .75rem; font-weight: 600; color: var(--soft); margin: .5rem 0 .2rem; }
article ul { list-style: none; display: flex; flex-wrap: wrap; gap: .35rem; margin: 0; padding: 0;
  font-size: .82rem; }
article li { border: 1px solid var(--line); border-radius: 5px; padding: .05rem .45rem; }
article li b { font-weight: 400; color: var(--soft); font-variant-numeric: tabular-nums; }
li.hit { border-color: var(--good); color: var(--good); }
li.miss { color: var(--soft); }
li.unseen { border-style: dashed; border-color: currentColor; }
"""
