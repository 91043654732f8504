"""The version of the code of a run."""

import subprocess
from pathlib import Path
from typing import NamedTuple


class Repository(NamedTuple):
    """A git repository: its folder and the commit that is checked out."""

    folder: Path
    commit: str


def repository() -> Repository | None:
    """Return the git repository of the working directory, else that of the package.

    None if neither has a commit, or git is missing.
    """
    for folder in (".", Path(__file__).parent):
        git = ["git", "-C", str(folder), "rev-parse", "--show-toplevel", "HEAD"]
        try:
            # git refuses another user's folder; a network drive may not answer
            done = subprocess.run(git, capture_output=True, text=True, timeout=5, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        top, commit = done.stdout.splitlines()
        return Repository(Path(top), commit)
    return None
