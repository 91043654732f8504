import csv

import pytest

from gile_lightning.common.cells import as_text
from gile_lightning.reproduction import writers
from gile_lightning.tracking.history import write_csv

FORMULAS = ["=cmd|'/C calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_no_cell_begins_a_formula(cell):
    assert as_text(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1.5", "+3", "-inf", "1e-3", "a=b", "", 0.5, None, -2])
def test_numbers_and_texts_stay(cell):
    assert as_text(cell) is cell


def test_tables_of_runs_and_studies(tmp_path):
    write_csv(tmp_path / "a.csv", [{"=a": FORMULAS[0], "b": -0.5}, {"b": "-1"}])
    with open(tmp_path / "a.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["'=a", "b"], [f"'{FORMULAS[0]}", "-0.5"], ["", "-1"]]


def test_tables_of_the_paper(monkeypatch):
    monkeypatch.setattr(writers, "records", lambda *_: (["data"], [["=1+1"], ["-0.25"]]))
    assert writers.comma_separated(None, [], "") == "data\n'=1+1\n-0.25\n"
