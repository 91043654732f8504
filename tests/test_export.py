"""Models taken elsewhere: a folder for the hub scores as the checkpoint does."""

import copy
import json
import shutil
from pathlib import Path

import pytest
import torch
import yaml

import gile_lightning
from gile_lightning import predict
from gile_lightning.common.errors import InputError
from gile_lightning.exporting.model_card import data_fingerprint
from gile_lightning.systems.loading import read_model
from gile_lightning.training.checkpoint import read_checkpoint
from gile_testing import runs
from gile_testing.exports import TEXTS, exported, same_scores
from gile_testing.hub import stand_in

FOLDER = {"README.md", "config.json", "metrics.json", "model.safetensors"}


@pytest.fixture
def folder(tmp_path):
    """An exported small run of GILE-WAN."""
    done = exported(runs.trained().output, tmp_path / "model")
    assert done.status is None, done.errors
    return done.result


def test_the_folder_scores_as_the_checkpoint(tmp_path):
    """Tests of other runs do the same: of a recommended model, a baseline, and two languages."""
    folder = same_scores(runs.trained(), tmp_path / "model")
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert names == FOLDER | {"english/vocabulary.txt", "english/labels.jsonl"}


def test_nothing_is_lost(folder):
    """But the run's configuration, the optimizer and the hashes of documents."""
    before, after = read_model(runs.trained().best), read_model(folder)
    state = before["gile_lightning"] | {"config": ""}
    assert state["extra"].pop("known_documents")
    curves = state.pop("calibrations"), after["gile_lightning"].pop("calibrations")
    assert after["gile_lightning"] == state
    for key in ("log_rates", "thresholds"):
        old, new = (found["english"].pop(key) for found in curves)
        assert torch.equal(old, new)
    assert curves[0] == curves[1]
    assert after["hyper_parameters"] == before["hyper_parameters"]
    assert after["state_dict"].keys() == before["state_dict"].keys()
    assert all(torch.equal(w, before["state_dict"][k]) for k, w in after["state_dict"].items())


def test_predict_reads_the_folder(folder, tmp_path):
    (tmp_path / "texts").write_text("\n".join(TEXTS[:3]))
    rows = [
        runs.call(predict.main, "--checkpoint", model, "--input", tmp_path / "texts").printed
        for model in (runs.trained().best, folder)
    ]
    assert rows[0].count("\n") == 3
    assert rows[0] == rows[1]


# --- the card ---


def test_the_card_has_the_scores_of_the_run(folder):
    metrics = runs.trained().metrics
    _, front, text = (folder / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(front)
    assert card["language"] == ["en"]
    assert (card["license"], card["library_name"]) == ("unknown", "gile_lightning")
    (model,) = card["model-index"]
    found = {
        (result["dataset"]["config"], metric["type"]): metric["value"]
        for result in model["results"]
        for metric in result["metrics"]
    }
    for key in ("seen", "unseen", "all"):
        value = metrics[f"test.{key}.average_precision"]
        assert found[key, "average_precision"] == value
        assert f"| {key} | {metrics[f'test.{key}.documents']} |" in text
        assert f" | {100 * value:.2f} | " in text
    errors = [metrics[f"test.{key}.expected_calibration_error"] for key in ("seen", "unseen")]
    assert found["seen", "expected_calibration_error"] == errors[0]
    seen, unseen = (f"{100 * error:.2f} for labels" for error in errors)
    assert f"{seen} seen in training, {unseen} unseen" in text
    assert "named no licence" in text


def test_the_fingerprint_is_of_the_data():
    state = read_checkpoint(runs.trained().best)["gile_lightning"]
    fingerprint = data_fingerprint(state)
    assert data_fingerprint(state | {"config": "", "thresholds": {}}) == fingerprint
    for part in ("texts", "frequencies"):
        other = copy.deepcopy(state)
        other["tasks"]["english"]["labels"][part][0] *= 2
        assert data_fingerprint(other) != fingerprint


def test_scores_are_those_of_the_checkpoint_alone(tmp_path):
    """Those of the best epoch are not told of another checkpoint."""
    run = runs.trained().output
    for name, known in (("best", True), ("last", False)):
        folder = exported(run / f"checkpoints/{name}.ckpt", tmp_path / name).result
        assert ("model-index" in (folder / "README.md").read_text()) == known
        assert ("documents are unknown" in (folder / "README.md").read_text()) != known


def test_licence(tmp_path):
    run = runs.trained().output
    more = ("--license", "other", "--license_name", "Ours", "--license_link", "https://a/b")
    folder = exported(run, tmp_path / "a", *more, "--title", "A *title*").result
    card = (folder / "README.md").read_text()
    fields = yaml.safe_load(card.split("---\n")[1])
    assert fields["license"] == "other"
    assert (fields["license_name"], fields["license_link"]) == ("Ours", "https://a/b")
    assert "Ours: https://a/b" in card
    assert "# A *title*" in card
    done = exported(run, tmp_path / "b", "--license", "other")
    assert done.status == 2
    assert "license other and a license_name: give both" in done.errors


# --- what is refused ---


def test_folders_that_hold_files(folder):
    done = exported(runs.trained().output, folder)
    assert done.status == 2
    assert f"{folder}: holds files already; choose another --output" in done.errors


def damaged(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError) as refused:
        gile_lightning.load(folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def with_config(**changes):
    return lambda content: json.dumps(json.loads(content) | changes).encode()


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("model.safetensors", lambda content: content[:100], "not a readable model (Safetensor"),
        ("config.json", lambda content: content[:100], "not a readable model (JSONDecodeError"),
        ("config.json", with_config(gile_lightning={"format": 2}), "of format 2, and this version"),
        ("config.json", with_config(gile_lightning={"format": 0}), "export the model again"),
        ("config.json", with_config(class_path="os.system"), "'os.system' cannot be stored"),
        ("config.json", with_config(tasks={"../x": {}}), "'../x' cannot be the name of a language"),
        ("config.json", with_config(tasks={"latin": {}}), "not a readable model (FileNotFound"),
        ("english/labels.jsonl", lambda content: b"{}\n", "not a readable model (KeyError"),
        (  # of the first label alone
            "english/labels.jsonl",
            lambda content: content.replace(b'"parents"', b'"others"', 1),
            "not a readable model (KeyError: 'parents')",
        ),
        ("english/vocabulary.txt", lambda content: b"a\nb", "the vocabulary must end with 'UNK'"),
    ],
)
def test_damaged_folders(folder, name, change, error):
    assert error in damaged(folder, name, change)


@pytest.mark.parametrize(
    "call", [{"class_path": "os.system", "init_args": {"command": "touch called"}}, "os.system"]
)
def test_a_folder_calls_nothing(folder, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    arguments = config["init_args"] | {"encoder": call}
    damaged(folder, "config.json", with_config(init_args=arguments))
    assert not Path("called").exists()


# --- the hub ---


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with stand_in(tmp_path, monkeypatch) as hub:
        yield hub


def test_pushed_and_loaded(hub, tmp_path, monkeypatch):
    run = runs.trained().output
    done = exported(run, tmp_path / "model", "--push", "me/labels", "--private", "true")
    assert done.status is None, done.errors
    assert "pushed: https://hub/me/labels" in done.printed
    assert hub.made == [{"name": "me/labels", "private": True, "exist_ok": True}]
    assert hub.files("me/labels") == FOLDER | {"english/vocabulary.txt", "english/labels.jsonl"}
    (hub.folder / "me/labels/model.bin").write_text("a pickle")
    expected = gile_lightning.load(run).predict(TEXTS)
    for name in ("me/labels", "me/labels@main"):
        assert gile_lightning.load(name).predict(TEXTS) == expected
    assert not any("model.bin" in path for path in hub.asked)
    # a model of the hub goes on with its scores
    again = exported("me/labels", tmp_path / "again").result
    assert (again / "metrics.json").read_bytes() == (done.result / "metrics.json").read_bytes()
    assert "model-index" in (again / "README.md").read_text()
    monkeypatch.chdir(tmp_path)
    shutil.copytree(done.result, "me/labels")
    labels = Path("me/labels/english/labels.jsonl")
    labels.write_text(labels.read_text().replace('"name": "', '"name": "our '))
    hub.asked.clear()  # a folder of that name wins
    assert gile_lightning.load("me/labels").label_names[0].startswith("our ")
    assert not hub.asked


def test_pushed_again(hub, folder):
    """Files that an earlier export left are deleted, others are not; nor is what else is here."""
    (folder / "notes.txt").write_text("mine")
    for old in ("latin/labels.jsonl", "theirs.txt"):
        (hub.folder / "me/labels" / old).parent.mkdir(parents=True, exist_ok=True)
        (hub.folder / "me/labels" / old).write_text("x")
    assert gile_lightning.push(folder, "me/labels") == "https://hub/me/labels"
    own = {"english/vocabulary.txt", "english/labels.jsonl", "theirs.txt"}
    assert hub.files("me/labels") == FOLDER | own


def test_names_that_the_hub_has_not(hub, tmp_path, folder):
    with pytest.raises(InputError, match=r"no/where: no such file or folder here, .*log in first"):
        gile_lightning.load("no/where")
    (hub.folder / "me/other").mkdir(parents=True)
    with pytest.raises(InputError, match="me/other: at the hub, but no model"):
        gile_lightning.load("me/other")
    with pytest.raises(InputError, match="'labels' is no name at the hub: give user/name"):
        gile_lightning.push(folder, "labels")
    with pytest.raises(InputError, match=r"not a folder that gile_lightning.export wrote"):
        gile_lightning.push(runs.trained().output, "me/labels")


@pytest.mark.parametrize("option", [("language", "german"), ("labels", "vectors")])
def test_options_of_another_format(option, tmp_path):
    done = exported(runs.trained().output, tmp_path / "model", f"--{option[0]}", option[1])
    assert done.status == 2
    assert f"--{option[0]} has no effect with --format hub: it is for onnx" in done.errors
    assert not (tmp_path / "model").exists()


def test_offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"no/where: .*it cannot be reached, or HF_HUB_OFFLINE"):
        gile_lightning.load("no/where")


def test_onnx_needs_its_packages(tmp_path, monkeypatch):
    monkeypatch.setattr("gile_lightning.exporting.onnx_folder.find_spec", lambda name: None)
    done = exported(runs.trained().output, tmp_path / "model", "--format", "onnx")
    assert done.status == 2
    assert "needs onnx and onnxscript: pip install 'gile_lightning[onnx]'" in done.errors
