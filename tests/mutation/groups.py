"""Which files are mutated, and the tests among which those that run a mutated line are picked."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

# name: (files of the package, files of tests)
GROUPS = {
    "metrics": (["metrics/*.py"], ["metrics/test_*.py"]),
    "ragged": (
        [
            "data/loading/flat.py",
            "data/loading/ragged.py",
            "network/encoders/[!_]*.py",
            "network/encoded_labels.py",
        ],
        ["data/loading/test_*.py", "network/encoders/test_*.py", "network/test_*.py"],
    ),
    "samplers": (["training/samplers/*.py"], ["training/samplers/test_*.py"]),
    "outputs": (["network/outputs/*.py"], ["network/outputs/test_*.py", "network/test_*.py"]),
    "losses": (["training/losses/*.py"], ["training/losses/test_*.py"]),
    "resume": (
        [
            "data/loading/[!fr]*.py",
            "data/loading/rows.py",
            "data/shards/draws.py",
            "data/shards/replay.py",
            "training/length.py",
            "training/schedules.py",
            "training/checkpoint.py",
            "training/callbacks/*.py",
        ],
        [
            "training/test_*.py",
            "training/callbacks/test_*.py",
            "data/loading/test_*.py",
            "data/shards/test_*.py",
            "data/test_*.py",
        ],
    ),
    "readers": (
        ["data/readers/*.py", "data/formats/*.py"],
        ["data/readers/test_*.py", "data/formats/test_*.py", "data/test_*.py"],
    ),
}


def files(group: str) -> tuple[list[Path], list[Path]]:
    """Return the files to mutate and those of the tests, in the order of their names."""
    package, tests = GROUPS[group]
    return _found(ROOT / "gile_lightning", package), _found(ROOT / "tests", tests)


def _found(folder: Path, patterns: list[str]) -> list[Path]:
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in found if path.name != "test_processes.py")  # starts others
