"""What is varied: bounds, choices, conditions."""

import optuna
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.search.space import arguments, in_order, read_space, suggest, values_of

DIM = {"type": "int", "low": 50, "high": 2000, "log": True}
RATE = {"type": "float", "low": 0.001, "high": 1.0, "log": True}
PART = {"class_path": "Uniform", "init_args": {"rate": 0.5}}


def draw(section, number=60):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(3))
    space = read_space(section)
    found = []
    for _ in range(number):
        trial = study.ask()
        found.append(suggest(space, trial))
        study.tell(trial, 0.0)
    return found


def test_bounds_and_steps():
    section = {"a": {"type": "float", "low": 0.0, "high": 1.0, "step": 0.25}}
    section |= {"b": {"type": "int", "low": 1, "high": 9, "step": 4}, "dim": DIM, "rate": RATE}
    found = draw(section)
    assert all(50 <= values["dim"] <= 2000 for values in found)
    assert all(0.001 <= values["rate"] <= 1 for values in found)
    assert {values["a"] for values in found} == {0.0, 0.25, 0.5, 0.75, 1.0}
    assert {values["b"] for values in found} == {1, 5, 9}


def test_choices_of_any_kind():
    found = {values["x"] for values in draw({"x": {"choices": ["a", 2, 0.5, None, True, PART]}})}
    whole = '{"class_path": "Uniform", "init_args": {"rate": 0.5}}'
    assert found == {"a", 2, 0.5, None, True, whole}
    assert arguments({"model.x": whole, "b": None, "c": True, "d": 1e-05}) == [
        *("--model.x", whole, "--b", "null", "--c", "true", "--d", "1e-05")
    ]


def test_conditions_hold_through_others():
    section = {
        "sampler": {"choices": ["all", "some"]},
        "rate": RATE | {"when": {"sampler": "some"}},
        "layer": {"choices": [1, 2], "when": {"sampler": "some"}},
        "width": DIM | {"when": {"layer": 2}},
    }
    seen = set()
    for values in draw(section):
        assert ("rate" in values) == ("layer" in values) == (values["sampler"] == "some")
        assert ("width" in values) == (values.get("layer") == 2)
        seen.add(tuple(values))
    assert len(seen) == 3


def test_classes_come_before_their_arguments():
    space = read_space({"sampler": {"choices": ["all", "some"]}, "sampler.rate": RATE})
    stored = {"sampler.rate": 0.5, "sampler": "some", "gone": 1}
    assert arguments(in_order(space, stored)) == ["--sampler", "some", "--sampler.rate", "0.5"]


def test_the_configurations_own_values():
    space = read_space(
        {
            "model.output.joint_dim": DIM,
            "model.sampler": {"choices": ["All", "Uniform"]},
            "model.sampler.rate": RATE | {"when": {"model.sampler": "Uniform"}},
            "model.embedding.dim": {"type": "int", "low": 1, "high": 9},
            "data.batch_size": {"choices": [16, 64]},
            "model.norm": {"choices": ["torch.nn.Identity", "torch.nn.LayerNorm"]},
            "trainer.max_epochs": {"type": "int", "low": 1, "high": 9},
        }
    )
    model = {
        "output": {"class_path": "GILE", "init_args": {"joint_dim": 500}},
        "sampler": {"class_path": "Uniform", "init_args": {"rate": 0.003, "negatives": None}},
        "embedding": {"class_path": "WordEmbedding", "init_args": {"dim": 100}},
        "norm": {"class_path": "torch.nn.LayerNorm", "init_args": {}},
    }
    configuration = {
        "model": {"class_path": "NeuralSystem", "init_args": model},
        "data": {"class_path": "BioASQ", "init_args": {"batch_size": 64}},
        "trainer": {"max_epochs": None},
    }
    assert values_of(space, configuration) == {
        "model.output.joint_dim": 500,
        "model.sampler": "Uniform",
        "model.sampler.rate": 0.003,
        "data.batch_size": 64,
        "model.norm": "torch.nn.LayerNorm",
    }


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (5, "expected low and high, or choices; not 5"),
        ({"low": 1, "high": 2}, "needs a type"),
        ({"type": "int", "low": 1}, "needs high"),
        ({"type": "int", "low": 3, "high": 3}, "empty: low is 3, high is 3"),
        ({"type": "int", "low": 0.5, "high": 3}, "low is 0.5, not a whole number"),
        ({"type": "float", "low": "1e-3", "high": 1}, "write 1.0e-3, not 1e-3"),
        ({"type": "float", "low": True, "high": 2}, "low is True, not a number"),
        ({"type": "float", "low": 0.0, "high": 1.0, "log": True}, "low > 0"),
        ({"type": "int", "low": 1, "high": 8, "log": True, "step": 2}, "step"),
        ({"choices": []}, "one or more"),
        ({"choices": [1, 1]}, "the same choice twice"),
        ({"choices": [1, 2], "low": 1}, "either choices or low and high"),
        ({"choices": [1, 2], "log": True}, "neither log nor step"),
        ({"choises": [1, 2]}, "unknown 'choises'; did you mean 'choices'?"),
        ({"choices": [1, 2], "when": {"other": 1}}, "other is no key of the space before"),
        ({"choices": [1, 2], "when": {"first": 3}}, "3 is none of the choices of first"),
        ({"choices": [1, 2], "when": "first"}, "when: give {KEY: CHOICE}, not 'first'"),
        ({"choices": [1, 2], "when": None}, "when: give {KEY: CHOICE}, not None"),
    ],
)
def test_mistakes_name_the_key(entry, problem):
    with pytest.raises(InputError) as error:
        read_space({"first": {"choices": [1, 2]}, "model.x": entry})
    assert str(error.value).startswith("sweep.space, model.x: ")
    assert problem in str(error.value)
