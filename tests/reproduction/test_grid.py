"""Expanding grids into fits."""

from dataclasses import replace

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.reproduction.grid import Column, as_text, filled
from gile_lightning.reproduction.grid_file import read_grid


def test_a_grid_is_blocks_times_rows_times_runs_times_seeds(folder):
    fits = read_grid("1", folder).fits(3, {})
    # two blocks, two runs: three seeds of two rows, one of the other
    assert len(fits) == 2 * 2 * (3 + 1 + 3)
    assert [fit.seed for fit in fits[:12]] == [1234] * 12
    assert {fit.seed for fit in fits if fit.row.name == "popularity"} == {1234}
    assert {fit.seed for fit in fits} == {1234, 1235, 1236}
    assert str(fits[0]) == "HAN, general, english, seed 1234"


def test_some_runs_have_further_seeds(folder):
    columns = (Column("en", "english:f1"), Column("de", "german:f1"), Column("mean", mean=True))
    grid = replace(read_grid("1", folder), columns=columns)
    fits = grid.fits(3, {}, repeat=["german"])
    # two blocks: the first seed of three rows and two runs, two more of two rows and one run
    assert len(fits) == 2 * (3 * 2 + 2 * 2)
    assert {fit.run for fit in fits if fit.seed > 1234} == {"german"}
    with pytest.raises(InputError, match=r"--repeat: .greman. is none of .*did you mean .german."):
        grid.fits(3, {}, repeat=["greman"])


def test_no_seed_is_run_that_makes_no_figure(folder):
    """The mean over both runs needs both."""
    grid = replace(read_grid("1", folder), columns=(Column("all", "*:f1"),))
    assert {fit.seed for fit in grid.fits(3, {}, repeat=["german"])} == {1234}
    assert {fit.seed for fit in grid.fits(2, {}, repeat=["german", "english"])} == {1234, 1235}


def test_arguments_are_in_the_order_of_their_keys_and_later_ones_win(folder):
    fits = read_grid("1", folder).fits(1, {"trainer.max_epochs": "3"}, ["HAN"], ["specific"])
    config = str(folder.parents[1] / "sweeps/base.yaml")
    assert fits[1].arguments == (
        *("--config", config),
        *("--data.label_set", "specific"),
        *("--data.languages", "german"),
        *("--data.train_share", '{"specific": 0.5}'),
        *("--model.x", "2"),
        *("--seed_everything", "1234"),
        *("--trainer.max_epochs", "3"),
    )
    changed = read_grid("1", folder).fits(1, {"model.x": "7"}, ["HAN"])
    assert all(fit.arguments[fit.arguments.index("--model.x") + 1] == "7" for fit in changed)


def test_equal_fits_share_a_key_and_others_do_not(folder):
    fits = read_grid("1", folder).fits(2, {})
    by_name = {name: [f for f in fits if f.row.name == name] for name in ("HAN", "same")}
    assert [f.key for f in by_name["HAN"]] == [f.key for f in by_name["same"]]
    assert len({f.key for f in fits}) == 2 * 2 * (2 + 1)
    assert all(f.key.startswith("base-") for f in fits)
    assert not {f.key for f in fits} & {f.key for f in read_grid("1", folder).fits(2, {"a": "b"})}


def test_the_key_depends_on_what_the_configuration_says(folder):
    key = read_grid("1", folder).fits(1, {})[0].key
    base = folder.parent / "base.yaml"
    base.write_text("# other words, same content\nmodel: {x: 0}\n")
    assert read_grid("1", folder).fits(1, {})[0].key == key
    base.write_text("model: {x: 5}\n")
    assert read_grid("1", folder).fits(1, {})[0].key != key
    # and on the file that it is laid over
    base.write_text("base: under.yaml\n")
    (folder.parent / "under.yaml").write_text("model: {x: 1}\n")
    key = read_grid("1", folder).fits(1, {})[0].key
    (folder.parent / "under.yaml").write_text("model: {x: 2}\n")
    assert read_grid("1", folder).fits(1, {})[0].key != key


def test_languages_that_only_the_configuration_names(folder):
    base = folder.parent / "base.yaml"
    base.write_text("data: {class_path: DW, init_args: {languages: [english, german, french]}}\n")
    grid = replace(read_grid("1", folder), runs={"mono": {"": {}}})
    assert {fit.languages for fit in grid.fits(1, {})} == {3}
    assert {fit.languages for fit in grid.fits(1, {"data.languages": "english,german"})} == {2}
    assert {fit.languages for fit in grid.fits(1, {"data": "BioASQ"})} == {1}
    base.write_text(
        "data: {class_path: Multilingual, init_args: {modules: {english: 1, german: 2}}}\n"
    )
    assert {fit.languages for fit in grid.fits(1, {})} == {2}
    base.write_text("data: DW\n")
    assert {fit.languages for fit in grid.fits(1, {})} == {1}


def test_paper_figures_of_a_block(folder):
    han, popularity, _ = read_grid("1", folder).rows
    assert han.printed("general", 2) == [1, 2]
    assert han.printed("specific", 2) == [3, None]
    assert popularity.printed("general", 2) == [None, None]
    assert (han.printed_parameters("general"), han.printed_parameters("specific")) == ("50K", "")


def test_block_names_fill_keys_and_values():
    given = {"$block.f1": ["x"], "a": {"$block": "is-$block"}, "n": 1}
    assert filled(given, "en") == {"en.f1": ["x"], "a": {"en": "is-en"}, "n": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [("a b", "a b"), (True, "true"), (None, "null"), (0.001, "0.001"), ({"a": 1}, '{"a": 1}')],
)
def test_values_as_arguments(value, text):
    assert as_text(value) == text
