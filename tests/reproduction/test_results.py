"""Result pages and checks of their figures."""

import json
import os
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.reproduction import checking
from gile_lightning.reproduction.checking import Compared, check_fits, reads_folders, run_check
from gile_lightning.reproduction.grid import Check
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.results import (
    MARK,
    Results,
    read_results,
    results_of,
    shown,
    write_results,
)
from gile_lightning.reproduction.tables import build
from gile_testing.claimed import claimed_grid, claimed_lines

ROOT = Path(__file__).parents[2]
PAGES = [x for x in sorted((ROOT / "docs/results").glob("*.json")) if '"table"' in x.read_text()]


@pytest.fixture
def grid(tmp_path):
    return claimed_grid(tmp_path)


def results(grid, seeds=2):
    fits, lines = claimed_lines(grid, seeds)
    chosen = {"rows": None, "blocks": None, "seeds": seeds, "overrides": {"a.b": "x y"}}
    return results_of("5", chosen, "built-in", fits, {fit.key: 60.0 for fit in fits}, lines)


def test_what_is_written_is_read_again(grid, tmp_path):
    made = results(grid)
    write_results(tmp_path / "page.md", made, grid)
    again = read_results(tmp_path / "page.md")
    assert again == made == read_results(tmp_path / "page.json")
    assert again.hours == 0.5  # 30 fits of a minute
    _, lines = claimed_lines(grid)
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


def test_a_page_says_which_figures_lack_a_seed(grid, tmp_path):
    fits, _ = claimed_lines(grid)
    failed = next(fit.key for fit in fits if fit.row.name == "joint" and fit.seed == 1235)
    done = ("done", {"f1": 0.5, "parameters": 7})
    lines = build(grid, fits, lambda key: ("failed", None) if key == failed else done)
    chosen = {"rows": None, "blocks": None, "seeds": 2, "overrides": {}}
    made = results_of("5", chosen, "built-in", fits, {}, lines)
    write_results(tmp_path / "page.md", made, grid)
    text = (tmp_path / "page.md").read_text()
    # of English, which that fit is of; the mean needs it
    assert text.count("50.00 (a seed failed)") == 2
    assert read_results(tmp_path / "page.md") == made


def test_a_page_says_that_some_figures_have_one_seed(grid, tmp_path):
    made = results(grid)
    write_results(tmp_path / "page.md", made, grid)
    assert "is of one seed" not in (tmp_path / "page.md").read_text()
    for line in made.lines:
        line["cells"][2:] = [cell[:1] for cell in line["cells"][2:]]
    made = replace(made, repeat=["en", "de"], jobs=1)
    write_results(tmp_path / "page.md", made, grid)
    text = (tmp_path / "page.md").read_text()
    assert "--table 5 --seeds 2 --repeat en,de --jobs 1 -- " in text
    assert "A figure without a deviation is of one seed" in text
    assert read_results(tmp_path / "page.md") == made


def test_other_data_are_named_by_a_place_holder(grid):
    made = replace(results(grid), data="news", overrides={})
    grid = replace(grid, data=("path", "word_vectors"))
    assert made.command(grid).endswith("--seeds 2 --data DIR --word_vectors DIR")


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
    ("figure", "seeds", "verdict"),
    [
        (0.23, 1, "within"),
        (0.249, 1, "within"),
        (0.211, 1, "within"),
        (0.251, 1, "OUTSIDE"),
        (None, 1, "FAILED"),
        # 23 and 25 deviate by the root of 2, twice which is more than the tolerance of 2
        (0.258, 2, "within"),
        (0.259, 2, "OUTSIDE"),
    ],
)
def test_a_check_runs_one_seed_of_what_its_grid_names(
    grid, tmp_path, monkeypatch, figure, seeds, verdict
):
    runner = _Runner(figure)
    monkeypatch.setattr(checking, "Runner", runner)
    (tmp_path / "check").mkdir()
    (compared,) = run_check(grid, results(grid, seeds), tmp_path / "check", 1)
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


@pytest.mark.parametrize(
    ("page", "reads"), [("ablation", False), ("scale", False), ("table2_medline", True)]
)
def test_a_check_of_what_comes_with_the_package_needs_no_folder(page, reads):
    made = read_results(ROOT / f"docs/results/{page}.json")
    assert reads_folders(read_grid(made.table), made) is reads


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
