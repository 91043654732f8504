"""Lists that are laid over lists."""

import json

import pytest
import yaml

from gile_lightning.commands.overlay import replace_lists
from gile_lightning.commands.parser import ErrorFirst


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
