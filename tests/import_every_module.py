"""Import every module of the package; fail with the name and traceback of each that cannot be.

python tests/import_every_module.py
"""

import importlib
import pkgutil
import sys
import traceback

import gile_lightning


def main() -> int:
    """Import the modules; return how many failed."""
    names = [
        gile_lightning.__name__,
        *(m.name for m in pkgutil.walk_packages(gile_lightning.__path__, "gile_lightning.")),
    ]
    failed = 0
    for name in names:
        for loaded in [kept for kept in sys.modules if kept.partition(".")[0] == "gile_lightning"]:
            del sys.modules[loaded]  # so that no module lives on what another one imported
        try:
            importlib.import_module(name)
        except Exception:
            failed += 1
            print(f"{name} cannot be imported:\n{traceback.format_exc()}", file=sys.stderr)
    print(f"{len(names) - failed} of {len(names)} modules import")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
