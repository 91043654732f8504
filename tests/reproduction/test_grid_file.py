"""Reading grids: what is wrong with one, and where they are."""

from pathlib import Path

import pytest

from gile_lightning.commands.shipped import SHIPPED
from gile_lightning.common.errors import InputError
from gile_lightning.reproduction.grid_file import read_grid

CLAIM = "{says: it is best, row: HAN, over: same}"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("heading: en", "headin: en", "unknown key 'headin'; did you mean 'heading'?"),
        ("name: same", "name: HAN", "two rows are called 'HAN'"),
        ("name: same", "name: 'HAN, too'", "'HAN, too' has a comma, which separates names"),
        ("    runs: mono\n", "    runs: duo\n", "'HAN' has runs 'duo', which is not in 'runs'"),
        ("[1, 2]", "[1]", "'HAN' needs 2 figures in 'paper'"),
        (
            "title: Table",
            f"claims: [{CLAIM}, {CLAIM}]\ntitle: Table",
            "two claims say 'it is best'",
        ),
        ("title: Table", "title: [", "not readable as YAML"),
        ("title: Table", "notes: My own.\ntitle: Table", "notes: give a list, not 'My own.'"),
        ("title: Table\n", "", "missing 1 required positional argument: 'title'"),
    ],
)
def test_mistakes_in_a_grid_name_the_file(folder, old, new, message):
    path = folder / "table1.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as error:
        read_grid("1", folder)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_an_empty_grid(folder):
    (folder / "table1.yaml").write_text("# nothing yet\n")
    with pytest.raises(InputError, match=r"table1.yaml: give its keys \(title, config, columns"):
        read_grid("1", folder)


def test_unknown_names(folder):
    with pytest.raises(InputError, match="--table: '9' is none of 1"):
        read_grid("9", folder)
    grid = read_grid("1", folder)
    with pytest.raises(InputError, match=r"--rows: 'HANN' is none of .* did you mean 'HAN'"):
        grid.fits(1, {}, ["HANN"])
    with pytest.raises(InputError, match=r"--blocks: 'generl' .*did you mean 'general'"):
        grid.fits(1, {}, None, ["generl"])
    (folder.parent / "base.yaml").unlink()
    with pytest.raises(InputError, match=r"base.yaml: no such file \(configuration of 'HAN'\)"):
        grid.fits(1, {})


def test_grids_here_stand_beside_those_of_the_package(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder.parents[1])
    assert read_grid("1").root == Path()
    assert read_grid("2").title == read_grid("2", SHIPPED / "tables").title
    (folder / "table2.yaml").write_text((folder / "table1.yaml").read_text())
    assert read_grid("2").title == read_grid("1").title


def test_a_copy_of_a_grid_has_the_configurations_of_the_package(tmp_path, monkeypatch):
    (tmp_path / "sweeps/tables").mkdir(parents=True)
    (tmp_path / "sweeps/tables/mine.yaml").write_text((SHIPPED / "tables/table2.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    fits = read_grid("mine").fits(1, {})
    assert fits[0].arguments[:2] == ("--config", str(SHIPPED / "wsabie.yaml"))
    (tmp_path / "sweeps/wsabie.yaml").write_text((SHIPPED / "wsabie.yaml").read_text())
    assert read_grid("mine").fits(1, {})[0].arguments[:2] == ("--config", "sweeps/wsabie.yaml")


def test_a_claim_with_several_rows_is_one_of_each(folder):
    path = folder / "table1.yaml"
    claim = "{says: $row beats $over on en, row: [same, HAN], over: [HAN, same], columns: [en]}"
    path.write_text(f"{path.read_text()}claims: [{claim}]\n")
    claims = read_grid("1", folder).claims
    rows = [("same", "HAN"), ("same", "same"), ("HAN", "HAN"), ("HAN", "same")]
    assert [(claim.row, claim.over) for claim in claims] == rows
    assert [claim.says for claim in claims] == [f"{row} beats {over} on en" for row, over in rows]
    assert all(claim.columns == ("en",) for claim in claims)


def test_a_claim_with_single_rows_has_their_names_too(folder):
    path = folder / "table1.yaml"
    claim = "{says: $row beats $over, row: same, over: HAN}"
    path.write_text(f"{path.read_text()}claims: [{claim}]\n")
    assert [claim.says for claim in read_grid("1", folder).claims] == ["same beats HAN"]
