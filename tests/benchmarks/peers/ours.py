"""Trains a configuration of our own on the corpus of the peers, and labels its test texts.

python tests/benchmarks/peers/ours.py OUT NAME [--data FOLDER]

OUT is what `corpus.py` has written, NAME a file in sweeps/. OUT gets ``NAME.json`` and the run
folder ``runs/NAME``. Training and labelling are processes of their own, with an empty cache, so
that the seconds of training have all that comes before it, such as vectors of a pretrained model.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ATTACK = ("--data", "gile_lightning.data.ATTACK", "--data.path", "null", "--data.split_year", 2021)
MEDLINE = ("--data.split_year", 2005, "--data.validation_size", 500)
GRADIENT = ("--trainer.max_epochs", 60, "--early_stopping.patience", 5)  # as for learning curves
PREDICTION = Path(__file__).parents[1] / "prediction.py"


def python(*command: object) -> None:
    """Run a Python program; end with its status if that is not 0."""
    done = subprocess.run([sys.executable, *map(str, command)], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what corpus.py has written")
    parser.add_argument("name", help="of a file in sweeps/, without its ending")
    parser.add_argument("--data", type=Path, help="folder of MEDLINE; without it ATT&CK is read")
    given = parser.parse_args()
    name, run, cache = given.name, given.folder / "runs" / given.name, given.folder / "cache"
    for old in (run, cache):
        shutil.rmtree(old, ignore_errors=True)
    corpus = (*MEDLINE, "--data.path", given.data) if given.data else ATTACK
    options = (*corpus, *(GRADIENT if name == "bioasq" else ()), "--data.cache_dir", cache)
    python("-m", "gile_lightning.fit", "--config", name, *options, "--output", run)
    speed = given.folder / "speed.json"
    python(PREDICTION, run, given.folder / "test.jsonl", "--output", speed)
    told = {
        "package": f"gile_lightning {version('gile_lightning')}",
        "train_seconds": json.loads((run / "metrics.json").read_text())["seconds"],
        "texts_per_second": 1 / json.loads(speed.read_text())["a text"],
        "peak_mib": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        "run": f"runs/{name}",
    }
    speed.unlink()
    (given.folder / f"{name}.json").write_text(json.dumps(told, indent=1))
    print(name, told)


if __name__ == "__main__":
    main()
