"""The options of `reproduce`."""

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.options import corpus, read_options


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--format", "pdf"], "--format: 'pdf' is none of md, csv, html, png, svg"),
        (["--seeds", "0"], "seeds is 0"),
        (["--", "--trainer.max_epochs"], "expected --KEY VALUE pairs after --"),
        (["--", "--output", "x"], "--output is not for single fits"),
        (["--data.cache_dir", "x"], "--data.cache_dir: keys of the fits go after a lone --"),
    ],
)
def test_mistakes(args, message):
    with pytest.raises(InputError) as error:
        read_options(["--table", "2", *args])
    assert message in str(error.value)


def test_an_unknown_option(capsys):
    with pytest.raises(SystemExit):
        read_options(["--table", "2", "--sed", "1"])
    assert "unknown key 'sed'; did you mean 'seeds'?" in capsys.readouterr().err


def test_rows_and_overrides():
    rest = ["--a.b", "1", "--c=x=y", "--d", "-1"]
    options = read_options(["--table", "figure", "--rows", "a, b", "--", *rest])
    assert options.rows == ["a", "b"]
    assert options.overrides == {"a.b": "1", "c": "x=y", "d": "-1"}
    assert options.label == "figure"
    assert read_options(["--table", "2"]).label == "table2"


@pytest.mark.parametrize(
    ("table", "data", "vectors", "message"),
    [
        ("2", "nowhere", None, "nowhere: no such folder"),
        ("2", ".", ".", "give --data alone"),
        ("3", ".", None, "--word_vectors DIR is missing"),
        ("3", None, ".", "--data DIR is missing"),
    ],
)
def test_folders_that_do_not_fit_the_table(table, data, vectors, message):
    with pytest.raises(InputError) as error:
        corpus(read_grid(table), data, vectors)
    assert message in str(error.value)


def test_data_of_your_own(tmp_path):
    for name in ("dw", "vectors"):
        (tmp_path / name).mkdir()
    given = str(tmp_path / "dw"), str(tmp_path / "vectors")
    overrides = {"data.path": given[0], "data.word_vectors": given[1]}
    assert corpus(read_grid("figure"), *given) == ("dw", overrides)
    builtin = ("built-in", {"data.builtin_paper_labels": True})
    assert corpus(read_grid("figure"), None, None) == builtin
