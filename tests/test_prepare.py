import json

from gile_lightning import fit, prepare
from gile_testing import runs


def arguments(cache):
    given = runs.arguments(None, epochs=1)
    given[given.index("--data.cache_dir") + 1] = str(cache)
    return given


def test_prepared_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = runs.call(prepare.main, *arguments(tmp_path / "cache"))
    assert done.status is None
    articles = runs.articles(next((tmp_path / "cache").glob("builtin-*/")))
    counts = done.result["counts"]["documents"]
    assert sum(counts.values()) <= len(articles) == runs.DOCUMENTS
    assert 0 < counts["test"] <= sum(int(article["year"]) >= 2005 for article in articles)
    lines = done.printed.splitlines()
    assert "built-in corpus" in lines[0]
    shards = next(line for line in lines if line.startswith("encoded: ")).removeprefix("encoded: ")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]  # no run folder

    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.*")}
    assert any(str(file).startswith(shards) for file in before)
    fast = ("--trainer.limit_train_batches", 1, "--test", "false")
    trained = runs.call(fit.main, *arguments("cache"), *fast, "--output", "run")
    assert trained.status is None, trained.errors
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.*")}
    assert after == before
    assert json.loads((tmp_path / "run/skipped.json").read_text()) == done.result["skipped"]
