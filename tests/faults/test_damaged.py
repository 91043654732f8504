"""A file that was cut off or changed is never read as whole."""

import pytest

from gile_testing.stages import STAGES, run


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    """Another bit in the middle of the data."""
    changed = bytearray(content)
    changed[int(len(content) * 0.6)] ^= 4
    return bytes(changed)


@pytest.mark.parametrize("damage", [cut, flipped])
@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("fit", "cache/*/train-*.arrow"),
        ("fit", "cache/*/task.json"),
        ("vectors", "cache/vectors/*/vectors.f32"),
        ("fit", "run/checkpoints/last.ckpt"),
    ],
)
def test_a_damaged_file_is_named(name, pattern, damage, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    assert run(STAGES[name], folder).status == 0
    file = min(folder.glob(pattern))
    file.write_bytes(damage(file.read_bytes()))
    ended = run(STAGES[name], folder)
    assert ended.status == 2, ended.printed
    assert "Traceback" not in ended.printed
    (line,) = [x for x in ended.printed.splitlines() if x.startswith("error: ")]
    assert str(file) in line
