"""The page of a fit: everything that is shown of it, in one HTML file."""

import html
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gile_lightning.tracking import drawings
from gile_lightning.tracking.examples import Example, Gold, Predicted
from gile_lightning.tracking.fit_report import (
    BY_FREQUENCY,
    CONFUSION_TABLE,
    F1,
    OVER_LABELS,
    RESULTS,
    FitReport,
    Table,
)
from gile_lightning.tracking.page import page, pictures, table
from gile_lightning.tracking.tables import COLUMNS, rows


def fit_page(report: FitReport) -> str:
    """Lay out everything that is shown of a fit as one HTML page."""
    curves = drawings.curves(report.history, list(report.by_language))
    bars = []
    if BY_FREQUENCY in report.tables:
        bars = [
            drawings.bars(
                "Seen labels by their training documents (%)", *report.tables[BY_FREQUENCY]
            )
        ]
    sections = [
        ("Run", _pairs({**report.facts, **report.figures})),
        ("Results", _results(report)),
        ("Curves", pictures(curves)),
        ("By training documents of the label", pictures(bars) + _table(report, BY_FREQUENCY)),
        (
            "Confused labels",
            _CONFUSED + _table(report, CONFUSION_TABLE) if report.confusions else "",
        ),
        ("Examples", _LEGEND + "".join(map(_card, report.examples)) if report.examples else ""),
        ("Corpus", _corpus(report)),
        ("Parameters", _parameters(report)),
        ("Configuration", f"<pre>{html.escape(report.config)}</pre>"),
    ]
    return page(report.title, sections, _NOTE, _STYLE)


def _table(report: FitReport, name: str) -> str:
    return table(*_without_empty(*report.tables[name])) if name in report.tables else ""


def _results(report: FitReport) -> str:
    if not report.results:
        return ""
    body = "<p>Percentages of the test documents with the best checkpoint. Ranking loss and "
    body += "one-error are better when low, the others when high.</p>"
    body += "".join(_table(report, name) for name in (RESULTS, OVER_LABELS, F1))
    if len(report.by_language) > 1:
        columns = ["language", "labels", *COLUMNS.values()]
        found = [
            [name, *row] for name, scores in report.by_language.items() for row in rows(scores)
        ]
        made = table(*_without_empty(columns, found))
        body += f"<details><summary>every language</summary>{made}</details>"
    return body


def _corpus(report: FitReport) -> str:
    by_language = {"": report.counts} if "documents" in report.counts else report.counts
    skipped = {"": report.skipped} if "documents" in report.counts else report.skipped
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


def _parameters(report: FitReport) -> str:
    parts = dict.fromkeys(key for sizes in report.sizes.values() for key in sizes)
    found = [
        [part, *(sizes.get(part, 0) for sizes in report.sizes.values())]
        for part in parts
        if any(sizes.get(part) for sizes in report.sizes.values())
    ]
    total = f"<p>{int(report.figures['parameters']):,} in all, shared ones counted once.</p>"
    return total + (table(["part", *report.sizes], found) if found else "")


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
