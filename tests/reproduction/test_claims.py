"""Statements about the rows of a table, held against the figures."""

from dataclasses import replace

import pytest
import torch

from gile_lightning.metrics.bootstrap import Pair, paired_bootstrap
from gile_lightning.reproduction.claims import claims_table, over_documents
from gile_lightning.reproduction.grid import Claim, Column
from gile_lightning.reproduction.tables import Cell, Line
from gile_testing.claimed import claimed_grid, claimed_lines


@pytest.fixture
def grid(tmp_path):
    return claimed_grid(tmp_path)


def test_claims(grid):
    _, lines = claimed_lines(grid)
    _, _, joint, drawn, english = claims_table(grid, lines).splitlines()
    # by hand: 5, 3, 4, 1, 2 points have mean 3 and deviation sqrt(2.5); t(0.975, 4) is 2.776
    assert joint == "| joint beats linear | +3.0 |  | +1.0 to +5.0 | columns | 5 of 5 | yes |"
    # 5, -5, 1, -1, 1: mean 0.2, deviation sqrt(13.2)
    assert drawn == "| drawn beats linear | +0.2 |  | -4.3 to +4.7 | columns | 3 of 5 | not clear |"
    assert english == "| joint beats linear in English | +5.0 |  |  | seeds | 2 of 2 |  |"
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
    assert told.endswith("| +2.0 |  | -0.5 to +4.5 | seeds | 3 of 3 | not clear |")
    margin = replace(only, claims=(replace(only.claims[0], margin=1.0),))
    assert claims_table(margin, lines).endswith("| yes |")
    # a row that draws nothing stands beside every seed: 1, 12, 23 have mean 12 and deviation 11
    drawn = Line(
        "", replace(lines[0].row, seeds=1), line("linear", 10.0).cells, 1, 1, None, None, None
    )
    told = "| +12.0 |  | -15.3 to +39.3 | seeds | 3 of 3 | not clear |"
    assert claims_table(only, [drawn, lines[1]]).endswith(told)
    turned = replace(only, claims=(replace(only.claims[0], row="linear", over="joint"),))
    told = "| -12.0 |  | -39.3 to +15.3 | seeds | 0 of 3 | not clear |"
    assert claims_table(turned, [drawn, lines[1]]).endswith(told)
    several = [lines[0], line("joint", 11.0, 22.0)]  # a seed failed: no pairs
    assert claims_table(only, several).endswith("| -3.5 |  |  | seeds | 0 of 1 |  |")
    # of either row another seed failed, so the second figures are of different seeds
    other = [
        replace(line("linear", 10.0, 30.0), done=2),
        replace(line("joint", 11.0, 22.0), done=2),
    ]
    assert claims_table(only, other).endswith("| -3.5 |  |  | seeds | 0 of 1 |  |")


def test_columns_of_different_numbers_of_seeds(grid):
    """The difference is of all seeds, as the interval over documents is."""

    def line(name, *cells):
        row = next(row for row in grid.rows if row.name == name)
        empty = (Cell(),) * (len(grid.columns) - 2)
        return Line("", row, (*map(Cell, cells), *empty), 3, 3, None, None, None)

    lines = [line("linear", (1.0, 2.0, 3.0), (4.0,)), line("joint", (2.0, 4.0, 9.0), (5.0,))]
    columns = tuple(column.heading for column in grid.columns[:2])
    only = replace(grid, claims=(replace(grid.claims[0], columns=columns),))
    bounds = [{"says": "joint beats linear", "part": "", "mean": 2.0, "low": 0.5, "high": 3.5}]
    (told,) = claims_table(only, lines, bounds).splitlines()[2:]  # (1 + 2 + 6) / 3 and 1
    assert told.endswith("| +2.0 | +0.5 to +3.5 |  | seeds | 1 of 1 | yes (1 seed) |")


def test_claims_of_several_blocks_together(grid):
    blocks = replace(
        grid,
        blocks=("a", "b"),
        claims=(Claim("joint beats linear", "joint", "linear", ("en", "de"), together=True),),
    )
    _, lines = claimed_lines(blocks)
    (line,) = claims_table(blocks, lines).splitlines()[2:]
    # 5, 3, 5, 3: deviation sqrt(4 / 3); t(0.975, 3) is 3.182
    assert line == "| joint beats linear | all | +4.0 |  | +2.2 to +5.8 | columns | 4 of 4 | yes |"


def test_a_claim_holds_if_other_documents_and_other_fits_cannot_turn_it(grid):
    _, lines = claimed_lines(grid)

    def told(low, high, mean=3.0):
        bounds = [
            {"says": "joint beats linear", "part": "", "mean": mean, "low": low, "high": high}
        ]
        return claims_table(grid, lines, bounds).splitlines()[2].split(" | ")[2:]

    assert told(0.5, 5.5) == ["+0.5 to +5.5", "+1.0 to +5.0", "columns", "5 of 5", "yes |"]
    assert told(-0.5, 6.5)[-1] == "not clear |"
    # of other figures, such as fewer columns
    assert told(-0.5, 6.5, mean=2.9) == ["", "+1.0 to +5.0", "columns", "5 of 5", "yes |"]
    # with one seed of one column documents alone can tell
    bounds = [{"says": "joint beats linear in English", "part": "", "mean": 5.0}]
    bounds[0] |= {"low": 1.0, "high": 9.0}
    told = claims_table(grid, lines, bounds)
    assert told.endswith("| +1.0 to +9.0 |  | seeds | 2 of 2 | yes (2 seeds) |")


def documents_of(fits, without=()):
    """Eight documents of each language: those of a fit, and the number made of their labels."""
    found = {}
    for number, fit in enumerate(fits):
        language = sorted({other.run for other in fits}).index(fit.run)
        draws = torch.Generator().manual_seed(number)
        values = torch.rand(8, generator=draws) + 0.2 * (fit.row.name == "joint")
        found[fit.key] = {
            "documents": torch.arange(8) + 100 * language,
            "f1": torch.stack([values, torch.ones(8)], 1),
        }
    return lambda key, pattern: {} if key in without else found[key]


def test_intervals_over_documents_are_those_of_the_paired_bootstrap(grid):
    fits, _ = claimed_lines(grid)
    documents = documents_of(fits)
    found = over_documents(grid, fits, documents)
    assert [x["says"] for x in found] == [claim.says for claim in grid.claims]
    assert all(x["low"] < x["mean"] < x["high"] for x in found)

    def terms(row, language):
        some = [fit for fit in fits if (fit.row.name, fit.run) == (row, language)]
        return [documents(fit.key, "f1")["f1"] for fit in some]

    english = found[2]
    one = paired_bootstrap([Pair(terms("linear", "en"), terms("joint", "en"))])
    # other draws of eight documents
    assert english["low"] == pytest.approx(100 * one.low, abs=1.5)
    assert english["high"] == pytest.approx(100 * one.high, abs=1.5)
    # the mean over five languages is known better
    assert found[0]["high"] - found[0]["low"] < 0.7 * (english["high"] - english["low"])
    lower = replace(grid, columns=tuple(replace(x, better="lower") for x in grid.columns))
    turned = over_documents(lower, fits, documents)[2]
    assert [turned[x] for x in ("mean", "low", "high")] == [
        -english[x] for x in ("mean", "high", "low")
    ]


def test_no_interval_where_documents_are_unknown_or_others(grid):
    fits, _ = claimed_lines(grid)
    (german, *_) = [fit for fit in fits if (fit.row.name, fit.run) == ("joint", "de")]
    found = over_documents(grid, fits, documents_of(fits, {german.key}))
    assert [x["says"] for x in found] == ["drawn beats linear", "joint beats linear in English"]
    known = documents_of(fits)

    def others(key, pattern):
        arrays = known(key, pattern)
        return arrays | {"documents": arrays["documents"] + 1} if key == german.key else arrays

    found = over_documents(grid, fits, others)
    assert [x["says"] for x in found] == ["drawn beats linear", "joint beats linear in English"]
    # a figure that documents have no part in
    speed = replace(grid, columns=(Column("en", "en:speed"), *grid.columns[1:]))
    with_speed = over_documents(speed, fits, known)
    assert [x["says"] for x in with_speed] == ["joint beats linear", "drawn beats linear"]
    # its mean over the other columns is no longer that of the table
    whole = over_documents(grid, fits, known)[0]["mean"]
    assert abs(with_speed[0]["mean"] - whole) > 0.01


def test_languages_of_one_fit_stand_beside_fits_of_one_language(grid):
    """One model of two languages beside a model of each, by the documents of the languages."""
    both = replace(
        grid,
        columns=(Column("both", {"each": "*:f1", "pair": "*.own_epoch.f1"}),),
        rows=(grid.rows[0], replace(grid.rows[1], runs="pair")),
        runs={"each": {x: {"language": x} for x in ("en", "de")}, "pair": {"": {}}},
        claims=(Claim("joint beats linear", "joint", "linear"),),
    )
    fits = both.fits(1, {})
    gold = {"en": torch.arange(6), "de": torch.arange(6) + 10}
    ones = torch.ones(6, 2)
    arrays = {
        "en": {"documents": gold["en"], "f1": ones * torch.tensor([0.5, 1])},
        "de": {"documents": gold["de"], "f1": ones * torch.tensor([0.6, 1])},
        "": {
            "en.documents": gold["en"],
            "de.documents": gold["de"],
            "en.own_epoch.f1": ones * torch.tensor([0.7, 1]),
            "de.own_epoch.f1": ones * torch.tensor([0.6, 1]),
        },
    }
    runs = {fit.key: arrays[fit.run] for fit in fits}
    (found,) = over_documents(both, fits, lambda key, pattern: runs[key])
    assert found["low"] == found["high"] == pytest.approx(10)  # (20 + 0) / 2, in each draw
