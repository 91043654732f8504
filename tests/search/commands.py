"""A worker as a process of its own, whose trials are stand-ins.

python commands.py STORAGE FOLDER TRIALS SEED [X]
"""

import sys
from pathlib import Path

import optuna

from gile_lightning.search import worker
from gile_lightning.search.settings import Search
from gile_lightning.search.space import read_space
from gile_lightning.search.storage import open_storage, quiet_optuna
from gile_lightning.search.study import join
from gile_lightning.search.worker import Plan, Worker

STAND_IN = str(Path(__file__).with_name("stand_in.py"))
SPACE = read_space({"x": {"type": "float", "low": 0.0, "high": 1.0}})
GOALS = {"val/f1": "maximize"}
CONFIGURATION = "x: 0.5\n"


def study(url, seed=None, space=SPACE, goals=GOALS, configuration=CONFIGURATION, retries=2):
    """Make a study in a storage, or go on with it."""
    search = Search(sampler=optuna.samplers.RandomSampler(seed))
    storage = open_storage(url, heartbeat=1, retries=retries)
    return join(storage, "study", search, space, goals, configuration)


def plan(url, folder, **changes):
    """Return what a worker does."""
    given = {
        "space": SPACE,
        "objectives": list(GOALS),
        "folder": folder,
        "storage": url,
        "pruner": None,
        "trials": 5,
        "hours": None,
        "retries": 2,
        "test": False,
        "keep_all": True,
        "devices": [],
        "jobs": 1,
        "threads": 1,
    }
    return Plan(**given | changes)


def main():
    url, folder, trials, seed = sys.argv[1:]
    quiet_optuna()
    Worker.program, worker._POLL = (STAND_IN,), 0.2
    told = Worker(
        study(url, int(seed)),
        plan(url, Path(folder), trials=int(trials)),
        lambda trial: print(trial.number, trial.state.name, flush=True),
    )
    told.run()


if __name__ == "__main__":
    main()
