from pathlib import Path
from typing import Any


def write_report(study: Any, folder: Path, configuration: Any) -> None:
    pass
