"""The `reproduce` command: tables of fits, killed and started again."""

import csv
import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from gile_lightning import reproduce
from gile_lightning.commands import launcher
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.reproduction.grid_file import read_grid
from gile_lightning.reproduction.runner import Runner
from gile_testing import runs
from gile_testing.children import Shared, forked

TIMED = ("seconds", "documents per second")
SMALL = {
    "data.cache_dir": None,
    "data.builtin_documents": 400,
    "data.min_count": 2,
    "data.batch_size": 32,
    "model.encoder.layer.dim": 24,
    "model.optimizer.lr": 0.01,
    "trainer.max_epochs": 3,
    "trainer.accelerator": "cpu",
    "trainer.logger": "false",
    "checkpoint_every": 3,
}


def arguments(output, *more, rows="WAN,GILE-WAN"):
    keys = SMALL | {"data.cache_dir": runs.cache()}
    rest = [part for key, value in keys.items() for part in (f"--{key}", str(value))]
    given = ["--table", "2", "--rows", rows, "--seeds", "1", "--jobs", "2", "--output", str(output)]
    return [*given, *more, "--", *rest]


def figures(output):
    rows = csv.DictReader((output / "table2/table.csv").read_text(encoding="utf-8").splitlines())
    return [{k: v for k, v in row.items() if k not in TIMED} for row in rows]


@pytest.fixture(scope="module", autouse=True)
def _shared_server():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launcher, "ForkServer", Shared)
        yield


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    output = tmp_path_factory.mktemp("unbroken")
    return output, runs.call(reproduce.main, *arguments(output))


def test_the_table_shows_what_the_fits_say(unbroken):
    output, done = unbroken
    assert done.status is None, done.printed
    assert done.result == output / "table2"
    table = figures(output)
    assert [row["system"] for row in table] == ["WAN", "GILE-WAN"]
    for row, fit in zip(table, read_grid("2").fits(1, {}, ["WAN", "GILE-WAN"]), strict=True):
        (folder,) = [x for x in (output / "fits").glob("*/") if output_layer(x) == row["system"]]
        metrics = read_metrics(folder)
        loss = 100 * metrics["test.seen.ranking_loss"]
        assert float(row["seen RL"]) == pytest.approx(loss)
        paper = fit.row.paper[0]
        assert float(row["seen RL paper"]) == paper
        assert float(row["seen RL difference"]) == pytest.approx(loss - paper)
        assert float(row["parameters"]) == metrics["parameters"]
        assert row["data"] == "built-in"
        kept = {path.name for path in (folder / "checkpoints").iterdir()}
        assert kept == {"best.ckpt"}
    assert table[0]["unseen RL"] == "n/a"  # a linear layer scores no unseen labels
    for kind in ("md", "html"):
        assert "not comparable" in (output / f"table2/table.{kind}").read_text(encoding="utf-8")
    assert "[2/2] finished" in done.printed
    assert (output / "table2/table.md").read_text(encoding="utf-8") in done.printed


def output_layer(folder):
    return "WAN" if "outputs.Linear" in (folder / "config.yaml").read_text() else "GILE-WAN"


def test_a_killed_command_ends_with_the_same_table(unbroken, tmp_path):
    args = arguments(tmp_path)
    log = tmp_path / "log.txt"
    with forked(log, "gile_lightning.reproduce", *args) as killed:
        deadline = time.monotonic() + 300
        while not list(tmp_path.glob("fits/*/checkpoints/last.ckpt")):
            assert killed.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait(60)
    assert log.read_text()
    assert len(list(tmp_path.glob("fits/*/metrics.json"))) < 2
    assert figures(tmp_path)[0]["seen RL"] in ("-", "running")  # a table all the same

    done = runs.call(reproduce.main, *args)
    assert done.status is None, done.printed
    logs = [path.read_text() for path in tmp_path.glob("fits/*/log.txt")]
    assert any("--ckpt_path last" in log for log in logs)
    assert figures(tmp_path) == figures(unbroken[0])
    for folder in tmp_path.glob("fits/*/"):
        metrics, same = (
            read_metrics(path / "fits" / folder.name) for path in (tmp_path, unbroken[0])
        )
        assert runs.reproducible(metrics) == runs.reproducible(same)


def test_what_is_done_is_not_run_again(unbroken, monkeypatch):
    output, before = unbroken
    monkeypatch.setattr(Runner, "program", ("-c", "raise SystemExit(1)"))
    table = figures(output)
    done = runs.call(reproduce.main, *arguments(output))
    assert done.status is None
    assert "2 of 2 fits are done" in done.printed
    assert figures(output) == table
    assert before.printed.split("# Table")[1] == done.printed.split("# Table")[1]


def test_the_table_is_logged(unbroken, monkeypatch):
    logged = []

    class Logger:
        def __init__(self, directory, name):
            logged.append((directory, name))

        def log_results(self, *given):
            logged.append(given)

    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setattr("gile_lightning.tracking.wandb_logger.RunLogger", Logger)
    output, _ = unbroken
    runs.call(reproduce.main, *arguments(output))
    assert logged[0] == (output / "table2", "table2")
    _, headings, rows = logged[1]
    with (output / "table2/table.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [headings, *rows]


def test_a_dry_run_lists_the_fits_and_their_time(unbroken, tmp_path):
    printed = runs.call(reproduce.main, *arguments(tmp_path, "--dry_run")).printed
    assert printed.count("new ") == 2
    assert "--model.output gile_lightning.network.outputs.Linear" in printed
    assert "2 fits, 2 at a time" in printed
    assert "from the built-in corpus on two CPU cores" in printed
    assert not (tmp_path / "fits").exists()
    output, _ = unbroken
    printed = runs.call(reproduce.main, *arguments(output, "--dry_run", "true")).printed
    assert printed.count("done ") == 2
    assert "0 s to go (from the fits that are done)" in printed


def test_some_languages_get_all_seeds(tmp_path):
    rows = "Linear [PB17]"
    given = ("--table", "5", "--blocks", "general", "--rows", rows, "--seeds", "3")
    given += ("--repeat", "english,german", "--dry_run", "--output", str(tmp_path))
    printed = runs.call(reproduce.main, *given).printed
    # eight languages with one seed, two of them with two more
    assert "12 fits" in printed
    assert printed.count("seed 1236") == 2
    assert "german, seed 1236" in printed


def test_failed_fits_end_in_status_1(tmp_path, monkeypatch):
    monkeypatch.setattr(Runner, "program", ("-c", "raise SystemExit('no memory')"))
    done = runs.call(reproduce.main, *arguments(tmp_path, "--format", "csv"))
    assert done.status == 1
    assert "| no memory" in done.errors
    assert [row["seen RL"] for row in figures(tmp_path)] == ["failed", "failed"]
    assert [path.name for path in (tmp_path / "table2").iterdir()] == ["table.csv"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_fits_and_says_how_to_go_on(tmp_path, number, status):
    log, args = tmp_path / "log.txt", arguments(tmp_path / "out", rows="WAN")
    with forked(log, "gile_testing.endless", *args, folder=tmp_path) as command:
        deadline = time.monotonic() + 200
        while not (tmp_path / "started").is_file() or not (tmp_path / "started").read_text():
            assert command.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(command.pid, number)
        assert command.wait(60) == status
    assert "stopped; start the same command again to continue" in log.read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "started").read_text()), 0)


def assert_comes_out(name, kept, deviation, output, *data):
    results = Path(__file__).parents[1] / "docs/results" / f"{name}.json"
    done = runs.call(reproduce.main, "--check", results, "--output", output, *data)
    assert done.status is None, done.printed
    row = "GILE constrained d_j, general, en"
    assert f"within  {row}: kept {kept:.2f} of the first seed, now " in done.printed
    now = re.search(rf"{row}: kept .* now ([\d.]+)", done.printed)[1]
    fits = (output / f"check_{name}/fits").glob("dw-*/metrics.json")
    assert now in [f"{100 * read_metrics(fit.parent)['test.micro.f1']:.2f}" for fit in fits]
    assert float(now) == pytest.approx(kept, abs=2 * deviation)


def test_a_page_of_results_still_comes_out(tmp_path):
    assert_comes_out("table5_news", 27.24, 2.76, tmp_path)


def test_a_page_of_real_sentences_still_comes_out(tmp_path, shared):
    folder = shared / "data/dw"
    data = ("--data", folder / "raw", "--word_vectors", folder / "word_vectors")
    assert_comes_out("table5_sib200", 58.94, 2.52, tmp_path, *data)


def test_pictures_of_a_table_without_a_figure(tmp_path):
    done = runs.call(
        reproduce.main, "--table", 2, "--rows", "WAN", "--format", "png,svg", "--output", tmp_path
    )
    assert done.status == 2
    assert "--format png,svg: this table has no figure; take md, csv or html" in done.errors


def test_two_checks_of_one_page_do_not_disturb_each_other(tmp_path):
    folder = tmp_path / "check_table5_news"
    results = Path(__file__).parents[1] / "docs/results/table5_news.json"
    with launcher.lock(folder):  # as the first one does
        done = runs.call(reproduce.main, "--check", results, "--output", tmp_path)
    assert done.status == 2
    assert f"{folder}: another command checks this page; choose another --output" in done.errors


def test_checks_that_cannot_be_made(tmp_path):
    results = tmp_path / "medline.json"
    page = json.loads((Path(__file__).parents[1] / "docs/results/table5_news.json").read_text())
    results.write_text(json.dumps(page | {"data": "SIB-200"}))
    for args, message in (
        (["--check", str(results)], "has figures of the SIB-200 corpus: give its folder"),
        (["--check", str(results), "--table", "5"], "give --table NAME, or --check FILE without"),
        (["--check", str(results), "--dry_run"], "--dry_run: --check takes all that from its file"),
        (["--check", str(results), "--repeat", "german"], "--repeat: --check takes all that"),
        (["--check", str(results), "--seeds=1"], "--seeds: --check takes all that from its file"),
        (["--check", str(results), "--format", "csv"], "--format: --check takes all that"),
        (["--check", str(results), "--", "--a", "1"], "takes the settings of fits from its file"),
        ([], "give --table NAME, or --check FILE without it"),
        (["--table", "5", "--page", "x.html"], "give the name of a Markdown file"),
    ):
        done = runs.call(reproduce.main, *args)
        assert done.status == 2, done.printed
        assert message in done.errors
