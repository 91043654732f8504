"""Lists that are laid over lists."""

import json

import pytest
import yaml

from gile_lightning.commands.overlay import replace_lists
from gile_lightning.commands.parser import ErrorFirst
from gile_lightning.common.errors import InputError


class Spice:
    def __init__(self, name: str = "salt", grams: int = 1) -> None: ...


class Dish:
    def __init__(self, spices: list[Spice] | None = None, portions: int = 1) -> None: ...


def spice(**settings):
    return {"class_path": f"{__name__}.Spice", "init_args": settings}


PEPPER = spice(name="pepper", grams=9)
DEFAULTS = spice(name="salt", grams=1)


@pytest.fixture
def parsed(tmp_path):
    """Parses files, and options after them; returns the settings of a dish."""

    def parse(*contents, options=()):
        parser = ErrorFirst()
        parser.add_argument("--config", action="config")
        parser.add_subclass_arguments(Dish, "dish")
        parser.set_defaults({"dish": {"class_path": f"{__name__}.Dish"}})
        files = []
        for i, content in enumerate(contents):
            files.append(f"--config={tmp_path / str(i)}")
            (tmp_path / str(i)).write_text(yaml.safe_dump({"dish": content}))
        return parser.parse_args([*files, *options]).as_dict()["dish"]["init_args"]

    return parse


@pytest.mark.parametrize("over", [[spice()], [spice()["class_path"]]])
@pytest.mark.parametrize("whole", [True, False])
def test_a_list_replaces_that_of_a_file(parsed, over, whole):
    first = {"spices": [PEPPER], "portions": 4}
    second = {"spices": over}
    found = parsed(first, {"init_args": second} if whole else second)
    assert found == {"spices": [DEFAULTS], "portions": 4}
    # as it did where the lists are not equally long
    assert parsed(first, {"spices": over * 2})["spices"] == [DEFAULTS] * 2


def test_an_option_replaces_the_list_of_a_file(parsed):
    options = ("--dish.spices", json.dumps([spice(grams=2)]))
    found = parsed({"spices": [PEPPER]}, options=options)
    assert found["spices"] == [spice(name="salt", grams=2)]
    more = ("--dish.spices+", json.dumps(spice()))
    assert parsed({"spices": [PEPPER]}, options=more)["spices"] == [PEPPER, DEFAULTS]


def test_what_is_no_list_of_classes_is_left_alone():
    args = ["--a", "[a, b]", "--b=[1.5]", "--c", "[broken", "--d", "text", "--e+", "[x.Y]", "--f"]
    assert replace_lists(args) == args
    assert replace_lists([]) == []


class Invented:
    def __init__(self, path: str | None = None) -> None: ...


class Own(Invented):
    def __init__(self, path: str | None = None, labels: str = "") -> None: ...


MINE = {"class_path": f"{__name__}.Own", "init_args": {"path": "mine.csv", "labels": "names.csv"}}


@pytest.fixture
def data_of(tmp_path):
    """Parses configurations of data, one laid over the other; returns the path."""

    def parse(*contents):
        parser = ErrorFirst()
        parser.add_argument("--config", action="config")
        parser.add_subclass_arguments(Invented, "data", required=False)
        files = []
        for i, content in enumerate(contents):
            files.append(f"--config={tmp_path / f'{i}.yaml'}")
            (tmp_path / f"{i}.yaml").write_text(yaml.safe_dump(content))
        return parser.parse_args(files).as_dict()["data"]["init_args"]["path"]

    return parse


@pytest.mark.parametrize(
    "model",
    [
        {"data": {"class_path": f"{__name__}.Invented", "init_args": {"path": None}}},
        {"data": {"class_path": f"{__name__}.Invented"}},
        {"data": {"path": None}},
    ],
)
def test_data_that_a_later_file_would_take_away(data_of, model):
    if "class_path" in model["data"]:
        assert data_of(model, {"data": MINE}) == "mine.csv"
    with pytest.raises(InputError, match=r"1\.yaml names no data of its own.*mine\.csv.* last"):
        data_of({"data": MINE}, model)


def test_data_that_a_later_file_keeps_or_names(data_of):
    assert data_of({"data": MINE}, {"data": {"labels": "other.csv"}}) == "mine.csv"
    assert data_of({"data": MINE}, {"data": {"class_path": f"{__name__}.Own"}}) == "mine.csv"
    assert data_of({"data": MINE}, {"data": {"path": "other.csv"}}) == "other.csv"
    assert data_of({"data": MINE}, {}) == "mine.csv"
