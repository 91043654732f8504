"""The grids of tables: the paper's figures, the number of fits, and overrides that parse."""

import json

import pytest

from gile_lightning.commands.cli import GileCLI
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.low_resource import LEVELS

TABLES = ("2", "3", "4", "5", "6", "7", "figure")
LANGUAGES = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "pt": "portuguese",
    "uk": "ukrainian",
    "ru": "russian",
    "ar": "arabic",
    "fa": "persian",
}
AUXILIARY = list(LANGUAGES)[1:]
BLOCKS = ("general", "specific")


@pytest.fixture(scope="module")
def paper(shared):
    return json.loads((shared / "paper_tables.json").read_text())


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def printed(table):
    """The paper's figures in a grid, by row, block and heading."""
    grid = read_grid(table)
    headings = [column.heading for column in grid.columns]
    return {
        row.name: {
            block: dict(zip(headings, row.printed(block, len(headings)), strict=True))
            for block in grid.blocks
        }
        for row in grid.rows
    }


@pytest.mark.parametrize(
    ("table", "fits"),
    [
        ("2", 10 * 3 + 7),  # the baselines that draw nothing are run once
        ("3", 2 * 3 * (6 * 8 + 6 * 7)),  # label sets, seeds, monolingual and bilingual systems
        ("4", 8 * (6 * 3 + 2)),
        ("5", 2 * 3 * 7 * 8),
        ("6", 2 * 3 * 2 * (8 + 7 + 1)),
        ("7", 7 * 3 * 3 * 15),
        ("figure", 2 * 3 * 13),
    ],
)
def test_number_of_fits(table, fits):
    assert len({fit.key for fit in read_grid(table).fits(3, {})}) == fits


def test_tables_share_fits():
    keys = {table: {fit.key for fit in read_grid(table).fits(1, {})} for table in TABLES}
    assert len(keys["6"] - keys["3"]) == 4  # those of eight languages
    assert len(keys["5"] & keys["3"]) == 2 * 2 * 8  # HAN and GILE-HAN
    assert len(keys["4"] & keys["3"]) == 2 * 8


def test_figures_of_table_2(paper):
    found = printed("2")
    for name, row in paper["table2_bioasq"]["rows"].items():
        for block in ("seen", "unseen"):
            for heading, value in row[block].items():
                assert found[name][""][f"{block} {heading}"] == value
    rows = {row.name: row for row in read_grid("2").rows}
    for name, row in paper["table2_bioasq"]["rows"].items():
        assert rows[name].printed_parameters("") == row["params"]
    without = set(found) - set(paper["table2_bioasq"]["rows"])
    assert len(without) == 7
    assert all(rows[name].paper is None for name in without)


def test_figures_of_table_3(paper):
    found = printed("3")
    for block, systems in paper["table3_full_resource"]["label_sets"].items():
        assert list(systems) == list(found)
        for name, row in systems.items():
            figures = found[name][block]
            assert figures.pop("average") == row["avg"]
            wanted = {f"en+{key}": row["en_target"][key] for key in AUXILIARY}
            assert figures == wanted | {key: row["aux_target"][key] for key in AUXILIARY}


def test_figures_of_table_4(paper):
    found = printed("4")
    sizes = {row.name: row.printed_parameters("") for row in read_grid("4").rows}
    rows = paper["table4_encoders_general"]["rows"]
    assert list(found) == list(rows)
    for name, row in rows.items():
        assert found[name][""] == {**row["F1"], "f_l": row["f_l"]}
        assert sizes[name] == row["n_l"]


def test_figures_of_table_5(paper):
    found = printed("5")
    for block in BLOCKS:
        rows = paper["table5_direct_comparison_HAN"][block]
        assert {name: figures[block] for name, figures in found.items()} == rows


def test_figures_of_table_6(paper):
    found = printed("6")
    rows = {row.name: row for row in read_grid("6").rows}
    assert list(rows) == list(paper["table6_multilingual"]["rows"])
    for name, row in paper["table6_multilingual"]["rows"].items():
        for block in BLOCKS:
            # the paper has no mean without English
            assert found[name][block] == {"f_l": row[block]["f_l"], "f_l but English": None}
            assert rows[name].printed_parameters(block) == row[block]["n_l"]


def test_figures_of_table_7(paper):
    found = printed("7")
    for key, levels in paper["table7_low_resource_general"]["rows"].items():
        for level, (_, row) in zip(LEVELS, levels.items(), strict=True):
            for name, value in row.items():
                assert found[name][LANGUAGES[key]][level] == value


def test_shares_of_table_7():
    for share in read_grid("7").fits(1, {}, ["GILE-MHAN"], ["german"]):
        level, _, percent = share.run.partition("-")
        assert float(percent.rstrip("%")) / 100 in LEVELS[level]
        given = share.arguments[share.arguments.index("--data.train_share") + 1]
        assert json.loads(given) == {"german": pytest.approx(float(percent.rstrip("%")) / 100)}


def test_figures_of_label_sampling(paper):
    found, stated = printed("figure"), paper["figure_label_sampling"]
    for block in BLOCKS:
        reference = stated["full_label_reference_F1_from_table3"][block]
        assert found["HNN"][block]["F1"] == reference["HNN"]
        assert found["GILE-HNN all labels"][block]["F1"] == reference["GILE-HNN"]
        at = zip(
            stated[block]["top_performance_at_sampling_percent"],
            stated[block]["speedup_percent_there"],
            strict=True,
        )
        for rate, speed in at:
            assert found[f"GILE-HNN {rate} %"][block]["speed-up (%)"] == speed
    general = stated["general"]
    rate = general["reaches_HNN_baseline_at_percent"]
    speed = found[f"GILE-HNN {rate} %"]["general"]["speed-up (%)"]
    assert speed == general["speedup_percent_at_baseline"]
    for row in read_grid("figure").rows[2:]:
        assert row.set["model.sampler.rate"] == row.x / 100


def number(text):
    return text.lstrip("-").replace(".", "", 1).isdigit()


def first_fits():
    """Rows that have between them all that the parser has to understand, in each configuration.

    Those with the most keys come first; rows and runs that add none differ in values alone.
    """
    found = []
    for table in (*TABLES, "sampling", "ablation"):
        for fit in read_grid(table).fits(1, {}):
            keys = zip(fit.arguments[::2], fit.arguments[1::2], strict=True)
            given = {(key, "" if key.startswith("--data") or number(x) else x) for key, x in keys}
            config = tuple(sorted(pair for pair in given if pair[0] == "--config"))
            found.append(({(config, pair) for pair in given}, (table, fit.row.name)))
    rows, known = set(), set()
    for given, row in sorted(found, key=lambda item: (-len(item[0]), item[1])):
        if given - known:
            rows.add(row)
            known |= given
    return sorted(rows)


@pytest.mark.parametrize(("table", "row"), first_fits())
def test_overrides_parse(table, row, tmp_path):
    if table == "ablation":
        pytest.importorskip("gile_testing.minilm")
    fit = read_grid(table).fits(1, {}, [row])[0]
    args = ["--output", str(tmp_path / "run"), "--trainer.logger", "false"]
    cli = GileCLI([*fit.arguments, *args, "--trainer.accelerator", "cpu"], "fit", "")
    cli.model.check(cli.datamodule.names, cli.datamodule.subword_tokenizer())
    assert cli.config["seed_everything"] == 1234
    assert len(cli.datamodule.names) == fit.languages


def test_every_key_of_a_row_is_used():
    for table in TABLES:
        grid = read_grid(table)
        for row in grid.rows:
            runs = grid.runs.get(row.runs, {"": {}})
            for column in grid.columns:
                key = column.key if isinstance(column.key, str) else column.key[row.runs]
                run = key.rpartition(":")[0]
                assert column.mean or not run or "*" in run or run in runs
