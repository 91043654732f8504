"""Result pages and checks of their figures."""

import json
import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.reproduction import checking
from gile_lightning.reproduction.checking import Compared, check_fits, run_check
from gile_lightning.reproduction.grid import Check, Claim, Column, Grid, Row
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.results import (
    MARK,
    Results,
    claims_table,
    read_results,
    results_of,
    shown,
    write_results,
)
from gile_lightning.reproduction.tables import Cell, Line, build

ROOT = Path(__file__).parents[2]
PAGES = [x for x in sorted((ROOT / "docs/results").glob("*.json")) if '"table"' in x.read_text()]
LANGUAGES = ("en", "de", "es", "pt", "uk")


@pytest.fixture
def grid(tmp_path):
    (tmp_path / "a.yaml").write_text("seed_everything: 0\n")
    return Grid(
        "A title",
        "a.yaml",
        (*(Column(x, f"{x}:f1") for x in LANGUAGES), Column("mean", mean=True)),
        (
            Row("linear", set={"row": 1}, runs="each", paper=[1, 2, 3, 4, 5, 3]),
            Row("joint", set={"row": 2}, runs="each"),
            Row("drawn", set={"row": 3}, runs="each"),
        ),
        runs={"each": {x: {"language": x} for x in LANGUAGES}},
        claims=(
            Claim("joint beats linear", "joint", "linear"),
            Claim("drawn beats linear", "drawn", "linear"),
            Claim("joint beats linear in English", "joint", "linear", ("en",)),
        ),
        check=Check(("joint",), ("de",), tolerance=2.0),
        root=tmp_path,
    )


FIGURES = {  # of two seeds
    "linear": {"en": 0.10, "de": 0.20, "es": 0.30, "pt": 0.40, "uk": 0.50},
    "joint": {"en": 0.15, "de": 0.23, "es": 0.34, "pt": 0.41, "uk": 0.52},
    "drawn": {"en": 0.15, "de": 0.15, "es": 0.31, "pt": 0.39, "uk": 0.51},
}


def lines_of(grid, seeds=2):
    fits = grid.fits(seeds, {})
    metrics = {
        fit.key: {"f1": FIGURES[fit.row.name][fit.run] + 0.02 * (fit.seed - 1234), "parameters": 7}
        for fit in fits
    }
    return fits, build(grid, fits, lambda key: ("done", metrics[key]))


def results(grid, seeds=2):
    fits, lines = lines_of(grid, seeds)
    chosen = {"rows": None, "blocks": None, "seeds": seeds, "overrides": {"a.b": "x y"}}
    return results_of("5", chosen, "built-in", fits, {fit.key: 60.0 for fit in fits}, lines)


def test_what_is_written_is_read_again(grid, tmp_path):
    made = results(grid)
    write_results(tmp_path / "page.md", made, grid)
    again = read_results(tmp_path / "page.md")
    assert again == made == read_results(tmp_path / "page.json")
    assert again.hours == 0.5  # 30 fits of a minute
    _, lines = lines_of(grid)
    for line, kept in zip(lines, again.table_lines(grid), strict=True):
        assert kept.row == line.row
        for cell, same in zip(line.cells, kept.cells, strict=True):
            assert same.values == pytest.approx(cell.values)
            assert same.paper == cell.paper
    assert again.table_lines(grid)[0].cells[0].values == (10.0, 12.0)


def test_the_page_has_figures_command_and_what_was_written_by_hand(grid, tmp_path):
    page = tmp_path / "page.md"
    write_results(page, results(grid), grid)
    text = page.read_text()
    assert "11.00 ± 1.41" in text  # of 10 and 12
    assert "python -m gile_lightning.reproduce --table 5 --seeds 2 -- --a.b 'x y'" in text
    assert text.rstrip().endswith(MARK)
    page.write_text(text + "\nWhat holds: little.\n")
    write_results(page, replace(results(grid, 1), rows=["joint", "linear"]), grid)
    again = page.read_text()
    assert "--rows joint,linear --seeds 1" in again
    assert again.endswith(f"{MARK}\n\nWhat holds: little.\n")


def test_a_page_says_that_some_figures_have_one_seed(grid, tmp_path):
    made = results(grid)
    write_results(tmp_path / "page.md", made, grid)
    assert "is of one seed" not in (tmp_path / "page.md").read_text()
    for line in made.lines:
        line["cells"][2:] = [cell[:1] for cell in line["cells"][2:]]
    made = replace(made, repeat=["en", "de"])
    write_results(tmp_path / "page.md", made, grid)
    text = (tmp_path / "page.md").read_text()
    assert "--table 5 --seeds 2 --repeat en,de -- " in text
    assert "A figure without a deviation is of one seed" in text
    assert read_results(tmp_path / "page.md") == made


def test_other_data_are_named_by_a_place_holder(grid):
    made = replace(results(grid), data="news", overrides={})
    grid = replace(grid, data=("path", "word_vectors"))
    assert made.command(grid).endswith("--seeds 2 --data DIR --word_vectors DIR")


def test_claims(grid):
    _, lines = lines_of(grid)
    _, _, joint, drawn, english = claims_table(grid, lines).splitlines()
    # by hand: 5, 3, 4, 1, 2 points have mean 3 and deviation sqrt(2.5); t(0.975, 4) is 2.776
    assert joint == "| joint beats linear |  | +3.0 | +1.0 to +5.0 | columns | 5 of 5 | yes |"
    # 5, -5, 1, -1, 1: mean 0.2, deviation sqrt(13.2)
    assert drawn == "| drawn beats linear |  | +0.2 | -4.3 to +4.7 | columns | 3 of 5 | not clear |"
    assert english == "| joint beats linear in English |  | +5.0 |  | seeds | 2 of 2 |  |"
    lower = replace(grid, columns=tuple(replace(x, better="lower") for x in grid.columns))
    assert claims_table(lower, lines).splitlines()[2].endswith("| 0 of 5 | no |")
    assert claims_table(grid, [line for line in lines if line.row.name == "drawn"]) == ""


def test_a_claim_on_one_column_is_told_by_its_seeds(grid):
    def line(name, *values):
        row = next(row for row in grid.rows if row.name == name)
        empty = (Cell(),) * (len(grid.columns) - 1)
        return Line("", row, (Cell(values), *empty), 3, 3, None, None, None)

    lines = [line("linear", 10.0, 20.0, 30.0), line("joint", 11.0, 22.0, 33.0)]
    only = replace(grid, claims=grid.claims[2:])
    # 1, 2, 3: mean 2, deviation 1; t(0.975, 2) is 4.303, over sqrt(3)
    (told,) = claims_table(only, lines).splitlines()[2:]
    assert told.endswith("| +2.0 | -0.5 to +4.5 | seeds | 3 of 3 | not clear |")
    margin = replace(only, claims=(replace(only.claims[0], margin=1.0),))
    assert claims_table(margin, lines).endswith("| yes |")
    # a row that draws nothing stands beside every seed: 1, 12, 23 have mean 12 and deviation 11
    drawn = Line(
        "", replace(lines[0].row, seeds=1), line("linear", 10.0).cells, 1, 1, None, None, None
    )
    told = "| +12.0 | -15.3 to +39.3 | seeds | 3 of 3 | not clear |"
    assert claims_table(only, [drawn, lines[1]]).endswith(told)
    turned = replace(only, claims=(replace(only.claims[0], row="linear", over="joint"),))
    told = "| -12.0 | -39.3 to +15.3 | seeds | 0 of 3 | not clear |"
    assert claims_table(turned, [drawn, lines[1]]).endswith(told)
    several = [lines[0], line("joint", 11.0, 22.0)]  # a seed failed: no pairs
    assert claims_table(only, several).endswith("| -3.5 |  | seeds | 0 of 1 |  |")


def test_claims_of_several_blocks_together(grid):
    blocks = replace(
        grid,
        blocks=("a", "b"),
        claims=(Claim("joint beats linear", "joint", "linear", ("en", "de"), together=True),),
    )
    _, lines = lines_of(blocks)
    (line,) = claims_table(blocks, lines).splitlines()[2:]
    # 5, 3, 5, 3: deviation sqrt(4 / 3); t(0.975, 3) is 3.182
    assert line == "| joint beats linear | all | +4.0 | +2.2 to +5.8 | columns | 4 of 4 | yes |"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not what `reproduce --page` writes"),
        ("{", "not what `reproduce --page` writes"),
        ('{"format": 1, "table": "5"}', "not what `reproduce --page` writes"),
        ('{"format": 99}', "99"),
    ],
)
def test_files_of_another_kind(tmp_path, content, message):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_results(tmp_path / "a.json")
    with pytest.raises(InputError, match="not readable"):
        read_results(tmp_path / "b.json")


def test_results_of_a_table_that_has_changed(grid):
    made = results(grid)
    with pytest.raises(InputError, match="table 5 has changed"):
        made.table_lines(replace(grid, rows=grid.rows[1:]))
    with pytest.raises(InputError, match="table 5 has changed"):
        made.table_lines(replace(grid, columns=grid.columns[1:]))


# ---------------------------------------------------------------- checks


class _Runner:
    """Runs nothing, and says that every fit has one figure."""

    def __init__(self, figure):
        self.figure, self.fits = figure, []

    def __call__(self, folder, jobs):
        assert not folder.exists()  # nothing is left of an earlier check
        return self

    def run(self, fits, changed):
        self.fits = fits

    def result(self, key):
        return ("failed", None) if self.figure is None else ("done", {"f1": self.figure})


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [(0.23, "within"), (0.249, "within"), (0.211, "within"), (0.251, "OUTSIDE"), (None, "FAILED")],
)
def test_a_check_runs_one_seed_of_what_its_grid_names(grid, tmp_path, monkeypatch, figure, verdict):
    runner = _Runner(figure)
    monkeypatch.setattr(checking, "Runner", runner)
    (tmp_path / "check").mkdir()
    (compared,) = run_check(grid, results(grid), tmp_path / "check", 1)
    assert [(fit.run, fit.seed) for fit in runner.fits] == [("de", 1234)]
    assert runner.fits[0].arguments[2:4] == ("--a.b", "x y")
    assert str(compared).split()[0] == verdict
    assert compared.within == (verdict == "within")
    assert compared.kept == pytest.approx(23.0)


def test_what_cannot_be_checked(grid, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "Runner", _Runner(0.23))
    incomplete = results(grid)
    incomplete.lines[1]["done"] = 1
    with pytest.raises(InputError, match="joint is not complete in the results"):
        run_check(grid, incomplete, tmp_path / "check", 1)
    with pytest.raises(InputError, match="has no 'check'"):
        check_fits(replace(grid, check=None), results(grid))
    assert not Compared("", "a", "b", 1.0, None, 9.0).within


# ---------------------------------------------------------------- the pages of the documentation


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_pages_are_made_of_their_data(path):
    made = read_results(path)
    grid = read_grid(made.table)
    page = path.with_suffix(".md").read_text(encoding="utf-8")
    assert page.partition(MARK)[0] == shown(made, grid, path.stem)
    for line in made.table_lines(grid):
        for cell in line.cells:
            assert cell.values or cell.state == "n/a", f"{line.row.name}: {cell.state}"
    assert os.sep not in made.data
    assert isinstance(made, Results)
    assert json.loads(path.read_text(encoding="utf-8"))["format"] == 1
    check, _ = check_fits(grid, made)
    found = {(line.block, line.row.name): line for line in made.table_lines(grid)}
    columns = [column.heading for column in grid.columns]
    for key in product(check.blocks, check.rows):
        assert any(found[key].cells[columns.index(name)].values for name in check.columns)


def test_a_page_of_other_rows_is_checked_by_what_it_has(grid):
    grid = replace(grid, check=Check(("joint",), ("en",)))
    assert results(grid).check(grid).rows == ("joint",)
    made = results(grid)
    few = replace(made, lines=[line for line in made.lines if line["row"] == "linear"])
    assert few.check(grid).rows == ("linear",)
    assert few.check(grid).columns == ("en",)
    assert few.check(replace(grid, check=None)) is None
