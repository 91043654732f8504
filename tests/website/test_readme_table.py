"""The README's figures are those of the results page, and of its first commands."""

import json

from gile_lightning.common.grid import TextGrid
from gile_site import readme_outputs
from gile_site.readme_table import README, RESULTS, with_table


def test_the_table_is_that_of_the_results():
    text = README.read_text(encoding="utf-8")
    assert with_table(text) == text
    rows = {line["row"]: line for line in json.loads(RESULTS.read_text())["lines"]}
    seen = rows["as shipped"]["cells"][1]
    assert f"| `best.yaml` | {sum(seen) / len(seen):.2f} " in text


def test_what_the_first_commands_print_is_what_they_printed():
    text = README.read_text(encoding="utf-8")
    tables = json.loads(readme_outputs.RESULTS.read_text())["tables"]
    assert readme_outputs.with_outputs(text, tables) == text
    assert tables.keys() == readme_outputs.TABLES.keys()
    label = json.loads(readme_outputs.RESULTS.read_text())["first_label"]
    assert readme_outputs.attack_example(text)[1] == label
    (seen,) = [row for row in tables["bioasq"]["rows"] if row[0] == "seen"]
    line = next(line for line in text.splitlines() if line.startswith("    seen  "))
    assert line.split()[1:4] == [seen[1], *(f"{float(x):.0f}" for x in seen[2:4])]


def test_printed_tables_are_read_again():
    grid = TextGrid(["micro-F1", "F1", "tuned threshold", "F1"], [["a b", "1.25", "", "2.50"]] * 2)
    grid.rows[1] = ["c", "10.00", "0.20", "3.00"]
    table = readme_outputs.parsed(str(grid))
    assert table == {"header": grid.header, "rows": grid.rows}
    shown = readme_outputs.rounded("dw", table).splitlines()
    assert shown[2].split() == ["a", "b", "1", "2"]
    assert shown[3].split() == ["c", "10", "0.20", "3"]
    near = {"header": grid.header, "rows": [grid.rows[0], ["c", "14.5", "0.22", "3.00"]]}
    far = {"header": grid.header, "rows": [grid.rows[0], ["c", "10.00", "0.26", "3.00"]]}
    emptied = {"header": grid.header, "rows": [["a b", "1.25", "9.00", "2.50"], grid.rows[1]]}
    told = readme_outputs.differences(
        dict.fromkeys("abc", table), {"a": near, "b": far, "c": emptied}
    )
    assert told == [
        "within a: 4.50",
        "OUTSIDE b: 6.00",
        "OUTSIDE c: other rows, columns or empty cells",
    ]
