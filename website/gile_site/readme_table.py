"""The table of figures in the README, from the data of a results page.

PYTHONPATH=website python -m gile_site.readme_table
"""

from collections.abc import Sequence

from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.results import read_results
from gile_lightning.reproduction.tables import Cell
from gile_site.links import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "docs/results/systems.json"
BEGIN, END = "<!-- made of docs/results/systems.json -->\n", "\n<!-- end -->"
ROWS = {
    "as shipped": "`best.yaml`",
    "without pretrained weights": "`best_scratch.yaml`",
    "without a transformer at prediction": "`best_fast.yaml`",
    "GILE-WAN": "GILE-WAN (`bioasq.yaml`)",
    "GILE-WAN of the paper": "GILE-WAN of the paper (`paper_bioasq.yaml`)",
    "TF-IDF one-versus-rest": "TF-IDF one-versus-rest (ridge)",
    "TF-IDF cosine": "TF-IDF cosine",
    "popularity": "popularity",
}
COLUMNS = {
    "BioASQ seen AvgPr": "MEDLINE, seen labels",
    "BioASQ unseen AvgPr": "unseen",
    "ATT&CK seen AvgPr": "ATT&CK, seen",
    "ATT&CK unseen AvgPr": "unseen",
    "mean AvgPr": "mean",
}


def readme_table() -> str:
    """Return the table as Markdown: mean and deviation over seeds."""
    results = read_results(RESULTS)
    grid = read_grid(results.table)
    headings = [column.heading for column in grid.columns]
    places = [headings.index(heading) for heading in COLUMNS]
    lines = {line.row.name: line.cells for line in results.table_lines(grid)}
    rows = [["", *COLUMNS.values()], ["---"] * (1 + len(COLUMNS))]
    rows += [[ROWS[name], *_figures(lines[name], places)] for name in ROWS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows).replace("|  |", "| |", 1)


def with_table(text: str) -> str:
    """Return the text of the README with the table of now."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"README.md lacks {BEGIN.strip()} or {END.strip()}")
    return before + begin + readme_table() + end + after


def _figures(cells: Sequence[Cell], places: Sequence[int]) -> list[str]:
    found = []
    for cell in (cells[place] for place in places):
        spread = "" if cell.deviation is None else f" ± {cell.deviation:.2f}"
        found.append("–" if cell.mean is None else f"{cell.mean:.2f}{spread}")
    return found


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
