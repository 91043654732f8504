import errno
import resource
import zipfile

import pytest
import torch
from torch import distributed

from gile_lightning import evaluate, fit, predict
from gile_lightning.builtin import write_bioasq
from gile_lightning.common.errors import InputError
from gile_lightning.training.checkpoint import (
    FORMAT,
    HPARAMS,
    STATE,
    AtomicCheckpointIO,
    find_checkpoint,
    of_language,
    read_checkpoint,
    with_backend,
)
from gile_testing import runs


@pytest.fixture(scope="module")
def run():
    return runs.trained()


def test_no_code_is_needed_to_read_it(run):
    checkpoint = torch.load(run.best, weights_only=True)
    assert checkpoint[STATE]["format"] == FORMAT
    assert checkpoint[HPARAMS]["output"]["init_args"]["joint_dim"] == runs.MODEL["output.joint_dim"]


# --- where it is ---


def test_the_best_of_a_run_folder_first(run, tmp_path):
    assert find_checkpoint(run.output) == run.best
    assert find_checkpoint(str(run.best)) == run.best
    last = tmp_path / "checkpoints/last.ckpt"
    last.parent.mkdir()
    last.touch()
    assert find_checkpoint(tmp_path) == last


def test_no_checkpoint_there(tmp_path):
    message = r"no checkpoint in this folder \(checkpoints/best\.ckpt or checkpoints/last\.ckpt\)"
    with pytest.raises(InputError, match=message):
        read_checkpoint(tmp_path)
    with pytest.raises(InputError, match="missing: no such file or folder"):
        read_checkpoint(tmp_path / "missing")


KINDS = {
    "empty": lambda good: b"",
    "noise": lambda good: bytes(range(256)) * 4,
    "text": lambda good: b'{"text": "no checkpoint"}\n',
    "truncated": lambda good: good[: len(good) // 2],
    "code": lambda good: b"cos\nsystem\n(S'false'\ntR.",
}
OTHER = {
    "a dictionary": {"a": torch.ones(3)},
    "another program's": {"state_dict": {}, "pytorch-lightning_version": "2.6.6", "epoch": 1},
}
NUMBERED = {
    "no format": lambda good: good | {STATE: {**good[STATE], "format": None}},
    "an older format": lambda good: good | {STATE: good[STATE] | {"format": FORMAT - 1}},
    "a newer format": lambda good: good | {STATE: good[STATE] | {"format": FORMAT + 1}},
    "no arguments": lambda good: {key: good[key] for key in good if key != HPARAMS},
}


@pytest.fixture(scope="module", params=[*KINDS, *OTHER, *NUMBERED])
def no_checkpoint(request, run, tmp_path_factory):
    """A file that is no checkpoint of ours, and what is said of it."""
    path = tmp_path_factory.mktemp("kinds") / "model.ckpt"
    if request.param in OTHER:
        torch.save(OTHER[request.param], path)
        return path, f"{path}: a checkpoint of another kind; it was not made by gile_lightning"
    if request.param in NUMBERED:
        torch.save(NUMBERED[request.param](torch.load(run.best, weights_only=True)), path)
        newer = request.param == "a newer format"
        number = {"an older format": FORMAT - 1, "a newer format": FORMAT + 1}.get(request.param)
        named = "no known format" if number is None else f"format {number}"
        remedy = "install a newer one" if newer else "train the model again"
        known = f"and this version of gile_lightning reads {FORMAT}; {remedy}"
        return path, f"{path}: of {named}, {known}"
    path.write_bytes(KINDS[request.param](run.best.read_bytes()))
    return path, f"{path}: not a readable checkpoint ("


def test_every_command_refuses_other_files(no_checkpoint, tmp_path):
    path, error = no_checkpoint
    (tmp_path / "in.txt").write_text("a text\n")
    resume = runs.arguments(tmp_path / "run", "--ckpt_path", path)
    for main, *args in (
        (predict.main, "--checkpoint", path, "--input", tmp_path / "in.txt"),
        (evaluate.main, "--checkpoint", path),
        (fit.main, *resume),
    ):
        done = runs.call(main, *args)
        assert done.status == 2
        assert done.errors.splitlines()[-1].startswith(f"error: {error}")


def test_a_damaged_checkpoint_is_refused(run, tmp_path):
    """PyTorch reads such a file, and says nothing."""
    path = tmp_path / "model.ckpt"
    content = run.best.read_bytes()
    weights = torch.load(run.best, weights_only=True)["state_dict"]
    largest = max(weights.values(), key=torch.numel).numpy().tobytes()
    place = content.index(largest) + len(largest) // 2
    path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    assert torch.load(path, weights_only=True)
    with pytest.raises(InputError, match=rf"{path}: not a readable .*\(the record .* is damaged"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("content", "compression", "error"),
    [
        (b"N.", zipfile.ZIP_DEFLATED, "the record a/data.pkl is compressed"),
        (b"c" + b"x" * 501 + b"\ny\n.", zipfile.ZIP_STORED, "a class by more than 500 characters"),
    ],
)
def test_what_takes_long_to_read_is_refused(tmp_path, content, compression, error):
    path = tmp_path / "model.ckpt"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("a/data.pkl", content)
    with pytest.raises(InputError, match=rf"{path}: not a readable checkpoint \(.*{error}"):
        read_checkpoint(path)


@pytest.fixture
def group(tmp_path):
    """A group of one process."""
    file = f"file://{tmp_path / 'group'}"
    distributed.init_process_group("gloo", init_method=file, rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def test_the_first_of_several_processes_reads_a_file_of_format_2(group, tmp_path):
    checkpoint = {STATE: {"format": 2}, HPARAMS: {}, "state_dict": {"a": 1}}
    torch.save(checkpoint, tmp_path / "model.ckpt")
    assert AtomicCheckpointIO().load_checkpoint(tmp_path / "model.ckpt") == checkpoint


def test_another_backend():
    """For the tasks with a pretrained model alone; the checkpoint itself stays as it is."""
    tasks = {
        "english": {"pretrained": "model", "pretrained_backend": "torch", "labels": 1},
        "german": {"pretrained": None},
        "french": None,
    }
    checkpoint = {"epoch": 5, STATE: {"format": FORMAT, "tasks": tasks}}
    assert with_backend(checkpoint, "openvino-int8") == {
        "epoch": 5,
        STATE: {
            "format": FORMAT,
            "tasks": tasks
            | {"english": tasks["english"] | {"pretrained_backend": "openvino-int8"}},
        },
    }
    assert checkpoint[STATE]["tasks"]["english"]["pretrained_backend"] == "torch"


def test_a_checkpoint_of_one_language():
    """All that is by language is of that language; the optimizer's state is left out."""
    whole = {
        "state_dict": {"networks.german.a": 1, "networks.english.a": 2, "other": 3},
        "optimizer_states": [4],
        "epoch": 5,
        HPARAMS: {"seed": 6},
        STATE: {
            "format": FORMAT,
            "tasks": {"german": {"labels": {}}, "english": None},
            "thresholds": {},
            "extra": {"joint_dim": 7, "fingerprints": {"german": [8], "english": [9]}},
        },
    }
    assert of_language(whole, "german") == {
        "state_dict": {"networks.german.a": 1, "other": 3},
        "epoch": 5,
        HPARAMS: {"seed": 6},
        STATE: {
            "format": FORMAT,
            "tasks": {"german": {"labels": {}}},
            "thresholds": {},
            "extra": {"joint_dim": 7, "fingerprints": {"german": [8]}},
        },
    }


# --- resuming with other settings ---


def test_other_settings(run, tmp_path):
    write_bioasq(tmp_path / "data", 100, seed=3)
    last = run.output / "checkpoints/last.ckpt"
    for key, value, error in (
        ("data.path", tmp_path / "data", "trained with another corpus or other text settings (eng"),
        ("data.max_label_words", 7, "continue with the data it was trained on"),
        ("model.output.joint_dim", 7, "the model is not that of the checkpoint"),
    ):
        options = ("--ckpt_path", last, f"--{key}", value)
        done = runs.call(fit.main, *runs.arguments(tmp_path / "run", *options))
        assert done.status == 2
        assert error in done.errors


# --- writing ---


def test_written_whole_or_not_at_all(tmp_path, monkeypatch):
    io, path = AtomicCheckpointIO(), tmp_path / "deep/last.ckpt"
    sound = {STATE: {"format": FORMAT}, HPARAMS: {}}
    first = sound | {"weights": torch.arange(5)}
    io.save_checkpoint(first, path)
    content = path.read_bytes()

    def half(checkpoint, file):
        file.write(content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(KeyboardInterrupt):
        io.save_checkpoint(sound | {"weights": torch.zeros(5)}, path)
    assert path.read_bytes() == content
    monkeypatch.undo()
    assert torch.equal(io.load_checkpoint(path)["weights"], first["weights"])
    second = sound | {"weights": torch.zeros(5)}
    io.save_checkpoint(second, path)  # the left-over of the failure is in nobody's way
    assert torch.equal(io.load_checkpoint(path)["weights"], second["weights"])
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.fixture
def small_files():
    """No file can grow beyond 256 KiB, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk(small_files, tmp_path):
    io, path = AtomicCheckpointIO(), tmp_path / "last.ckpt"
    io.save_checkpoint({"weights": torch.zeros(5)}, path)
    content = path.read_bytes()
    with pytest.raises(
        InputError, match=r"last\.ckpt: not written: File too large; the earlier last"
    ):
        io.save_checkpoint({"weights": torch.zeros(1 << 18)}, path)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == [path.name]  # it takes no room


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(InputError, match=r"run/checkpoints/best\.ckpt: not written: Not a \w+$"):
        AtomicCheckpointIO().save_checkpoint({}, tmp_path / "run/checkpoints/best.ckpt")


def test_what_cannot_be_saved_is_no_full_disk(tmp_path):
    with pytest.raises(AttributeError, match="local object"):
        AtomicCheckpointIO().save_checkpoint({"weights": lambda: None}, tmp_path / "last.ckpt")
    assert not list(tmp_path.iterdir())


def test_a_sound_checkpoint_is_not_called_damaged(run, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(torch, "load", refuse)
    with pytest.raises(OSError, match="Too many open files"):
        read_checkpoint(run.best)


def test_the_runs_in_a_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"last\.ckpt\); is it a run folder\?$"):
        find_checkpoint(tmp_path)
    for name in "bacdef":
        (tmp_path / name / "checkpoints").mkdir(parents=True)
        (tmp_path / name / "checkpoints/best.ckpt").touch()
    with pytest.raises(InputError, match=r"last\.ckpt\); give a, b, c, d, e, \.\.\. in it$"):
        find_checkpoint(tmp_path)
    assert find_checkpoint(tmp_path / "a") == tmp_path / "a/checkpoints/best.ckpt"
