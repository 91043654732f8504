"""Tables from fits whose figures are made up here."""

import math

import pytest

from gile_lightning.reproduction.grid import Column, Fit, Grid, Row
from gile_lightning.reproduction.tables import build

MONO = {"en": {"data.languages": "en"}, "de": {"data.languages": "de"}}


def fit(row, run="", seed=1, languages=1, block=""):
    return Fit(block, row, run, seed, languages, (), f"{row.name}-{run}-{seed}-{block}")


def results(figures, state="-"):
    """Fits with figures are done, the others in one state."""
    return lambda key: ("done", figures[key]) if key in figures else (state, None)


def one(columns, row, fits, result):
    grid = Grid("title", "config", tuple(columns), (row,), runs={"mono": MONO})
    (line,) = build(grid, fits, result)
    return line


def test_mean_deviation_and_difference():
    row = Row("HAN", paper=[40.0])
    figures = {f"HAN--{seed}-": {"f1": value} for seed, value in ((1, 0.4), (2, 0.43), (3, 0.49))}
    fits = [fit(row, seed=seed) for seed in (1, 2, 3)]
    line = one([Column("F1", "f1")], row, fits, results(figures))
    (cell,) = line.cells
    assert cell.mean == pytest.approx(44.0)
    assert cell.deviation == pytest.approx(math.sqrt((4**2 + 1**2 + 5**2) / 2))  # n - 1
    assert cell.difference == pytest.approx(4.0)
    assert (line.done, line.seeds) == (3, 3)


def test_a_seed_alone_has_no_deviation_and_the_open_ones_are_counted():
    row = Row("HAN")
    fits = [fit(row, seed=seed) for seed in (1, 2)]
    line = one([Column("F1", "f1")], row, fits, results({"HAN--2-": {"f1": 0.5}}, "running"))
    (cell,) = line.cells
    assert (cell.mean, cell.deviation, cell.difference) == (50.0, None, None)
    assert (line.done, line.seeds) == (1, 2)


@pytest.mark.parametrize("state", ["-", "running", "failed"])
def test_cells_say_what_keeps_their_figure_away(state):
    row = Row("HAN", runs="mono")
    fits = [fit(row, run) for run in MONO]
    columns = [Column("en", "en:f1"), Column("de", "de:f1"), Column("mean", mean=True)]
    line = one(columns, row, fits, results({"HAN-en-1-": {"f1": 0.5}}, state))
    assert line.cells[0].mean == 50
    assert [cell.state for cell in line.cells[1:]] == [state, state]
    assert [cell.mean for cell in line.cells[1:]] == [None, None]


def test_a_system_without_a_figure():
    row = Row("WAN")
    figures = {"WAN--1-": {"seen": 0.5, "odd": math.nan}}
    columns = [Column("seen", "seen"), Column("unseen", "unseen"), Column("odd", "odd")]
    line = one(columns, row, [fit(row)], results(figures))
    assert [cell.state for cell in line.cells] == ["", "n/a", "n/a"]


def test_patterns_average_over_runs_and_keys():
    row = Row("MHAN", runs="mono")
    figures = {
        "MHAN-en-1-": {"en.own.f1": 0.1, "de.own.f1": 0.2, "own.f1": 0.9},
        "MHAN-de-1-": {"en.own.f1": 0.3, "de.own.f1": 0.6, "own.f1": 0.9},
    }
    columns = [
        Column("all", {"mono": "*:*.own.f1", "other": "x"}),
        Column("one", "de:en.own.f1", percent=False),
        Column("mean", mean=True),
    ]
    line = one(columns, row, [fit(row, run, languages=2) for run in MONO], results(figures))
    assert [cell.mean for cell in line.cells] == pytest.approx([30, 0.3, 15.15])


def test_a_seed_counts_where_it_has_all_runs_of_a_figure():
    row = Row("HAN", runs="mono")
    values = {("en", 1): 0.1, ("de", 1): 0.2, ("de", 2): 0.4}
    figures = {f"HAN-{run}-{seed}-": {"f1": value} for (run, seed), value in values.items()}
    columns = [
        Column("en", "en:f1"),
        Column("de", "de:f1"),
        Column("mean", mean=True),
        Column("both", "*:f1"),
    ]
    line = one(columns, row, [fit(row, run, seed) for run, seed in values], results(figures))
    en, de, mean, both = (cell.values for cell in line.cells)
    assert (en, de, mean, both) == (
        pytest.approx((10,)),
        pytest.approx((20, 40)),
        pytest.approx((15,)),
        pytest.approx((15,)),
    )
    assert {cell.state for cell in line.cells} == {""}
    assert (line.done, line.seeds) == (2, 2)


def test_runs_with_more_seeds_do_not_weigh_more():
    row = Row("HAN", runs="mono")
    sizes = {("en", 1): 100, ("de", 1): 400, ("de", 2): 600}
    figures = {
        f"HAN-{run}-{seed}-": {"parameters": size, "seconds": size / 10}
        for (run, seed), size in sizes.items()
    }
    line = one([], row, [fit(row, run, seed) for run, seed in sizes], results(figures))
    # of 100 and the mean of 400 and 600
    assert (line.parameters, line.seconds, line.speed) == (300, 30, None)


def test_the_block_fills_keys():
    row = Row("MHAN", paper={"de": [7.0]})
    figures = {"MHAN--1-de": {"de.f1": 0.1}, "MHAN--1-es": {"es.f1": 0.2}}
    grid = Grid("", "", (Column("F1", "$block.f1"),), (row,), blocks=("de", "es"))
    lines = build(grid, [fit(row, block=b) for b in grid.blocks], results(figures))
    assert [line.cells[0].mean for line in lines] == [10, 20]
    assert [line.cells[0].paper for line in lines] == [7, None]


def test_relative_to_the_same_seed_of_another_row():
    base, fast = Row("all"), Row("some")
    figures = {
        "all--1-": {"speed": 100.0},
        "all--2-": {"speed": 200.0},
        "some--1-": {"speed": 150.0},
        "some--2-": {"speed": 220.0},
    }
    column = Column("speed-up", "speed", percent=False, relative_to="all")
    grid = Grid("", "", (column,), (base, fast))
    fits = [fit(row, seed=seed) for seed in (1, 2) for row in (base, fast)]
    lines = build(grid, fits, results(figures))
    assert lines[0].cells[0].values == pytest.approx((0, 0))
    assert lines[1].cells[0].values == pytest.approx((50, 10))
    (line,) = build(grid, [f for f in fits if f.row is fast], results(figures))
    assert line.cells[0].state == "n/a"  # the other row is not in the table


def test_parameters_are_per_language_and_times_are_means():
    row = Row("MHAN", runs="mono")
    figures = {
        "MHAN-en-1-": {"parameters": 100, "seconds": 4.0, "documents_per_second": 10.0},
        "MHAN-de-1-": {"parameters": 300, "seconds": 8.0, "documents_per_second": math.nan},
    }
    fits = [fit(row, run, languages=2) for run in MONO]
    line = one([], row, fits, results(figures))
    assert (line.parameters, line.seconds, line.speed) == (100, 6, 10)
    empty = one([], row, fits, results({}))
    assert (empty.parameters, empty.seconds, empty.speed) == (None, None, None)
