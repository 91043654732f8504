"""A worker as a process of its own, whose trials are stand-ins.

python studies.py STORAGE FOLDER TRIALS SEED [X]
"""

import sys
from pathlib import Path

import optuna

from gile_lightning.commands.launcher import Launcher
from gile_lightning.search import outage, worker
from gile_lightning.search.plan import Plan
from gile_lightning.search.settings import Search
from gile_lightning.search.space import read_space
from gile_lightning.search.storage import open_storage, quiet_optuna
from gile_lightning.search.study import join
from gile_lightning.search.worker import Worker

STAND_IN = str(Path(__file__).parents[1] / "search/stand_in.py")
SPACE = read_space({"x": {"type": "float", "low": 0.0, "high": 1.0}})
GOALS = {"val/f1": "maximize"}
CONFIGURATION = "x: 0.5\n"
OPENED = []


def close():
    """Close the connections of this process to storages."""
    while OPENED:
        storage = OPENED.pop()
        if isinstance(storage, optuna.storages.RDBStorage):
            storage.remove_session()
            storage.engine.dispose()


def study(url, seed=None, sampler=None, configuration=CONFIGURATION):
    """Make a study in a storage, or go on with it."""
    search = Search(sampler=sampler or optuna.samplers.RandomSampler(seed))
    storage = open_storage(url, heartbeat=2)
    OPENED.append(storage)
    return join(storage, "study", search, SPACE, GOALS, configuration, {})


def plan(url, folder, jobs=1, devices=(), **search):
    """Return what a worker does."""
    given = {"trials": 5, "keep_checkpoints": "all"} | search
    return Plan(
        search=Search(**given),
        space=SPACE,
        objectives=list(GOALS),
        configuration=CONFIGURATION,
        pruner=None,
        folder=folder,
        storage=url,
        launcher=Launcher(jobs, devices),
    )


def main():
    url, folder, trials, seed = sys.argv[1:]
    quiet_optuna()
    Worker.program, worker._POLL, outage._PAUSE = (STAND_IN,), 0.2, 0.5
    told = Worker(
        study(url, int(seed)),
        plan(url, Path(folder), trials=int(trials)),
        lambda trial: print(trial.number, trial.state.name, flush=True),
    )
    told.run()


if __name__ == "__main__":
    main()
