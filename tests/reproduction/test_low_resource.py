"""The low-resource protocol: a script takes the place of `fit`, and one fit is real."""

import json

import pytest

from gile_lightning import low_resource
from gile_lightning.commands import launcher
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.reproduction import low_resource as protocol
from gile_testing import children, dw_runs, runs

STAND_IN = """if True:
    import json, sys
    args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    assert args["--model.threshold"] == "0.3"
    share = json.loads(args["--data.train_share"])["german"]
    scores = {"test.micro.f1": 0.0, "german.own_epoch.test.micro.f1": share}
    open(f"{args['--output']}/metrics.json", "w").write(json.dumps(scores))
"""


@pytest.fixture
def arguments(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "PROGRAM", ("-c", STAND_IN))
    monkeypatch.setattr(protocol, "LEVELS", {"tiny": (0.001, 0.005), "small": (0.01, 0.03)})
    monkeypatch.setattr(launcher, "_PAUSE", 0.01)
    return ("--config", dw_runs.CONFIG, "--language", "german", "--output", tmp_path / "low")


def test_levels(arguments, tmp_path, monkeypatch):
    done = runs.call(low_resource.main, *arguments)
    assert done.result["mean"] == pytest.approx({"tiny": 0.003, "small": 0.02})
    assert json.loads((tmp_path / "low/low_resource.json").read_text()) == done.result
    assert len(list(tmp_path.glob("low/share-*/log.txt"))) == 4
    assert "small   1 %: 1.00  3 %: 3.00  mean: 2.00" in done.printed

    # what is done is not repeated
    (tmp_path / "low/share-0.03/metrics.json").unlink()
    again = runs.call(low_resource.main, *arguments)
    assert again.result == done.result
    assert again.printed.count("log.txt") == 1

    (tmp_path / "low/share-0.03/metrics.json").unlink()
    monkeypatch.setattr(protocol, "PROGRAM", ("-c", "raise SystemExit('no memory')"))
    failed = runs.call(low_resource.main, *arguments)
    assert failed.status == 1
    assert "no memory" in failed.errors
    refused = runs.call(low_resource.main, *arguments, "--model.sharing", "both")
    assert "holds runs with other arguments" in refused.errors


def test_levels_by_turns(arguments, tmp_path):
    for level in ("tiny", "small"):
        done = runs.call(low_resource.main, *arguments, "--levels", level)
    assert done.result["mean"] == pytest.approx({"tiny": 0.003, "small": 0.02})
    assert json.loads((tmp_path / "low/low_resource.json").read_text()) == done.result


def test_another_configuration_of_the_same_name(arguments, tmp_path, monkeypatch):
    config = tmp_path / "mine.yaml"
    config.write_text(f"base: {dw_runs.CONFIG}\n")
    given = ("--config", config, *arguments[2:])
    script = f"open({str(config)!r}, 'a').write('seed_everything: 5')\n{STAND_IN}"
    monkeypatch.setattr(protocol, "PROGRAM", ("-c", script))
    done = runs.call(low_resource.main, *given)
    assert done.status == 2
    remedy = "undo the change, or choose another --output"
    assert f"{config}: changed since this command has begun; {remedy}" in done.errors
    assert len(list(tmp_path.glob("low/share-*/metrics.json"))) == 1
    refused = runs.call(low_resource.main, *given)
    assert "holds runs with other arguments" in refused.errors
    monkeypatch.setattr(protocol, "PROGRAM", ("-c", STAND_IN))
    changed = config.read_text()
    config.write_text(f"base: {dw_runs.CONFIG}  # a comment changes nothing\n")
    assert runs.call(low_resource.main, *given).status is None
    config.write_text(changed)
    kept = tmp_path / "low/arguments.json"
    earlier = json.loads(kept.read_text())
    del earlier["configurations"]  # as earlier versions wrote it
    kept.write_text(json.dumps(earlier))
    assert runs.call(low_resource.main, *given).status is None


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (("--levels", "smal"), "--levels: 'smal' is none of tiny, small; did you mean 'small'?"),
        (("--language", "germn"), "--language: 'germn' is none of english, german"),
        (("--data", "BioASQ"), "BioASQ is a corpus of one language"),
        (("--test", "false"), "--test: low_resource sets it itself; leave it out"),
        (("--data.train_share=0.1",), "--data.train_share: low_resource sets it itself"),
        (("--model.threshold", "0.5"), "--model.threshold: low_resource sets it itself"),
    ],
)
def test_mistakes(arguments, more, error):
    given = list(arguments)
    if more[0] in given:
        given[given.index(more[0]) + 1] = more[1]
        more = ()
    if "--data" in more:
        given = given[2:]
    done = runs.call(low_resource.main, *given, *more)
    assert done.status == 2
    assert done.errors.startswith(f"error: {error}")


def test_a_fit(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "LEVELS", {"medium": (0.5,)})
    monkeypatch.setattr(launcher, "ForkServer", children.Shared)
    options = ("--data.languages", '["german"]', "--trainer.limit_train_batches", 2)
    fit = dw_runs.arguments(None, *options, epochs=1)
    target = ("--language", "german", "--output", tmp_path / "low")
    done = runs.call(low_resource.main, *fit, *target)
    assert done.status is None, done.errors + done.printed
    metrics = read_metrics(tmp_path / "low/share-0.5")
    assert metrics["test.micro.threshold"] == 0.3
    assert done.result["mean"] == {"medium": metrics["test.micro.f1"]}
