"""Messages of a running sweep."""

import time
from collections import Counter
from pathlib import Path

import optuna
import yaml
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.common.console import clock, complain, say, show
from gile_lightning.search import recovery
from gile_lightning.search import study as studies
from gile_lightning.search.plan import Plan
from gile_lightning.search.results import best_files
from gile_lightning.search.space import values_of
from gile_lightning.search.storage import without_password


class TrialProgress:
    """Reports trials as they end: the best value, counts, the time left.

    Args:
        study: the study.
        plan: what this worker runs.
    """

    def __init__(self, study: optuna.Study, plan: Plan) -> None:
        self.study, self.plan = study, plan
        self._began = time.monotonic()
        self._done_before = self._counts()["over"]

    def begin(self, folder: Path, url: str) -> None:
        """Report the study, its objectives and its folder."""
        own = values_of(self.plan.space, yaml.safe_load(self.plan.configuration))
        settings = ", ".join(setting.key for setting in self.plan.space)
        aims = [direction.name.lower() for direction in self.study.directions]
        goals = ", ".join(map(" ".join, zip(aims, self.plan.objectives, strict=True)))
        say(f"study {self.study.study_name}: {goals}, varying {settings}")
        say(f"folder: {folder}; storage: {without_password(url)}")
        if url.startswith("sqlite"):
            say(f"watch: optuna-dashboard {url} --artifact-dir {folder / 'artifacts'}")
        if self._done_before:
            say(f"continuing: {self._summary()}")
        elif drawn := [x.key for x in self.plan.space if x.key not in own and x.applies(own)]:
            say(f"the first trial has the configuration's values, but draws {', '.join(drawn)}")

    def ended(self, trial: FrozenTrial) -> None:
        """Report a trial of this worker that has ended."""
        done = self._counts()["over"]
        of = f"{done}/{self.plan.search.trials}" if self.plan.search.trials else f"{done}"
        failed = trial.state == TrialState.FAIL
        tell = complain if failed else say
        tell(f"[{of}] {_name(trial)} {self._outcome(trial)}; {self._summary()}")
        tail = trial.user_attrs.get(recovery.LOG_TAIL)
        if tail and failed:
            tell("\n".join(f"  | {line}" for line in tail.splitlines()))

    def _outcome(self, trial: FrozenTrial) -> str:
        if trial.state != TrialState.COMPLETE:
            return recovery.outcome(trial)
        return f"complete: {self._values(trial)}"

    def _values(self, trial: FrozenTrial) -> str:
        return ", ".join(
            f"{name} {value:.5g}"
            for name, value in zip(self.plan.objectives, trial.values, strict=True)
        )

    def _counts(self) -> Counter[str]:
        trials = self.study.get_trials(deepcopy=False)
        repeated = recovery.repeated(trials)
        again = {x.number for x in recovery.cut_off(trials, self.plan.search.retries)}
        over = repeated | again
        counts = Counter(trial.state.name for trial in trials if trial.number not in over)
        counts["over"] = counts["COMPLETE"] + counts["PRUNED"] + counts["FAIL"]
        counts["again"] = len(again)
        return counts

    def _summary(self) -> str:
        counts = self._counts()
        parts = []
        if best := studies.best(self.study):
            found = f"best {self._values(best[0])} ({_name(best[0])})"
            parts.append(found if len(best) == 1 else f"{len(best)} that none is better than")
        done = f"{counts['COMPLETE']} complete, {counts['PRUNED']} pruned, {counts['FAIL']} failed"
        parts.append(f"{done}, {counts['again']} to continue" if counts["again"] else done)
        if left := self._left(counts["over"]):
            parts.append(f"about {clock(left)} left")
        return "; ".join(parts)

    def _left(self, over: int) -> float:
        """Estimate the seconds to go, from the pace of all workers since this one began."""
        spent = time.monotonic() - self._began
        limits = [3600 * self.plan.search.hours - spent] if self.plan.search.hours else []
        if self.plan.search.trials and (done := over - self._done_before) > 0:
            limits.append((self.plan.search.trials - over) * spent / done)
        return max(0.0, min(limits, default=0.0))

    def end(self) -> None:
        """Show the best trials."""
        counts, best = self._counts(), []
        show(f"study {self.study.study_name}: {self._summary()}")
        for path, trial in best_files(self.study, self.plan.folder).items():
            values = ", ".join(f"{key} {value}" for key, value in trial.params.items())
            show(f"{path}: {self._values(trial)} with {values}")
            scores = dict(zip(self.plan.objectives, trial.values, strict=True))
            best.append({"config": path, "scores": scores, "settings": trial.params})
        states = {key: counts[key.upper()] for key in ("complete", "pruned", "fail")}
        show(output=self.plan.folder, study=self.study.study_name, trials=states, best=best)


def _name(trial: FrozenTrial) -> str:
    """Name a trial after its run folder; a repetition has the folder of the first attempt."""
    return f"trial {trial.user_attrs.get('folder', trial.number)}"
