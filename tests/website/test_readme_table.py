"""The README's figures are those of the results page."""

import json

from gile_site.readme_table import README, RESULTS, with_table


def test_the_table_is_that_of_the_results():
    text = README.read_text(encoding="utf-8")
    assert with_table(text) == text
    rows = {line["row"]: line for line in json.loads(RESULTS.read_text())["lines"]}
    seen = rows["as shipped"]["cells"][1]
    assert f"| `best.yaml` | {sum(seen) / len(seen):.2f} ±" in text
