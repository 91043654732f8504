"""Lines are counted exactly in small files, and nearly in large ones."""

import gzip
import random

import pytest

from gile_lightning.data.formats.line_count import estimate_lines


def lines(count):
    draw = random.Random(0)
    return [f"{i} " + "word " * draw.randint(1, 200) for i in range(count)]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("count", [1, 2, 1_000])
def test_small_files_are_counted(tmp_path, count, end):
    text = ("\n".join(lines(count)) + end).encode()
    (tmp_path / "a.jsonl").write_bytes(text)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    for name in ("a.jsonl", "a.jsonl.gz"):
        assert estimate_lines([tmp_path / name]) == count
    both = [tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"]
    assert estimate_lines(both) == 2 * count


def test_several_members_and_an_empty_file(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"1\n2\n") + gzip.compress(b"3\n4"))
    assert estimate_lines([tmp_path / "a.gz"]) == 4
    (tmp_path / "empty").touch()
    assert estimate_lines([tmp_path / "empty"]) == 0


def test_large_files_are_estimated(tmp_path):
    made = lines(80_000)  # 40 MB
    short = [line[:200] for line in made[:40_000]]  # the first half has shorter lines
    for name, all_lines, off in (("a", made, 0.02), ("b", [*short, *made[40_000:]], 0.05)):
        text = "\n".join(all_lines).encode()
        (tmp_path / name).write_bytes(text)
        found = estimate_lines([tmp_path / name])
        assert found == pytest.approx(80_000, rel=off)
    (tmp_path / "a.gz").write_bytes(gzip.compress("\n".join(made).encode(), 1))
    found = estimate_lines([tmp_path / "a.gz"])
    assert found == pytest.approx(80_000, rel=0.02)


def test_what_cannot_be_counted(tmp_path):
    assert estimate_lines([tmp_path / "missing"]) is None
    assert estimate_lines(["hf://somewhere/a.jsonl"]) is None
    (tmp_path / "a.gz").write_bytes(b"no gzip file")
    assert estimate_lines([tmp_path / "a.gz"]) is None
