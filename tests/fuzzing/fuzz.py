"""Fuzzes the readers, guided by the coverage of their code.

python tests/fuzzing/fuzz.py [--seconds 60] [--only TARGET ...] [--output FOLDER] [--seed 1]

Each target runs in a process of its own, for so many seconds. An input fails if it ends in anything
but the named error, takes more than 5 s of CPU or 2 GB, starts a program, asks the network, or
writes outside of its folder. The first input of each kind of failure is written to FOLDER/TARGET,
with what was raised.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[i]) for i in (1, 2)]
WORK = tempfile.TemporaryDirectory(prefix="gile-lightning-fuzz-")
for variable, name in (("TMPDIR", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "cache")):
    os.environ[variable] = str(Path(WORK.name, "tmp", name))
os.environ |= {"HF_HUB_OFFLINE": "1", "WANDB_MODE": "disabled", "OMP_NUM_THREADS": "1"}
Path(WORK.name, "tmp").mkdir()
tempfile.tempdir = None  # which is found anew

import atheris  # noqa: E402

with atheris.instrument_imports(include=["gile_lightning", "rdflib", "yaml"]):
    from fuzzing.targets import TARGETS, outcome
    from fuzzing.trial import Trial, mutated
from gile_testing.faults import limit_memory  # noqa: E402

MEMORY = 2_000  # MB, beside what the imports take
LONGEST = 20_000  # bytes of an input, where no sound one is longer
MANY = 5  # times that a target is started again after an input that ends the process


def fuzz(target: str, folder: Path, seconds: int, seed: int) -> None:
    """Fuzz a target in this process, until the time is over or an input ends it."""
    work = Path(tempfile.mkdtemp(dir=WORK.name))
    corpus, longest = work / "corpus", LONGEST
    corpus.mkdir()
    trial = Trial(target, folder, work / "reading", Path(WORK.name, "tmp"))
    for number, content in enumerate(TARGETS[target].sound()):
        (corpus / str(number)).write_bytes(content)
        longest = max(longest, 2 * len(content))
        outcome(target, content, trial.reading)  # which imports what it needs
    limit_memory(MEMORY)
    options = {
        **{"max_total_time": seconds, "seed": seed, "max_len": longest, "timeout": 60},
        **{"artifact_prefix": f"{folder}/", "print_final_stats": 1, "rss_limit_mb": 0},
    }
    flags = [f"-{key}={value}" for key, value in options.items()]
    atheris.Setup([sys.argv[0], *flags, str(corpus)], trial, custom_mutator=mutated)
    atheris.Fuzz()


def run(target: str, seconds: int, seed: int, folder: Path) -> int:
    """Fuzz a target in processes of its own; return how many inputs were tried."""
    folder.mkdir(parents=True, exist_ok=True)
    tried, end = 0, time.monotonic() + seconds
    for number in range(MANY):
        left = round(end - time.monotonic())
        log = folder / f"ended-{number}.txt"
        process = os.fork()
        if not process:
            with log.open("wb") as file:
                os.dup2(file.fileno(), 1)
                os.dup2(file.fileno(), 2)
            os.chdir(WORK.name)
            fuzz(target, folder, left, seed + number)
            os._exit(1)
        _, status = os.waitpid(process, 0)
        printed = log.read_text(errors="replace")
        tried += sum(map(int, re.findall(r"number_of_executed_units: (\d+)", printed)))
        if status == 0:
            log.unlink()
        if status == 0 or status == signal.SIGINT or end - time.monotonic() < 5:
            break
    return tried


def main() -> None:
    """Fuzz every target, and leave with status 1 if an input failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--only", nargs="*", help="targets; all by default")
    parser.add_argument("--output", type=Path, default=Path("runs/fuzzing"))
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = total = 0
    for target in given.only or TARGETS:
        if target not in TARGETS:
            parser.error(f"no target {target!r}; there are {', '.join(TARGETS)}")
        folder = given.output.resolve() / target.replace("/", " ")
        tried = run(target, given.seconds, given.seed, folder)
        failures = len(list(folder.glob("*.txt")))
        failed, total = failed + failures, total + tried
        print(f"{target}: {tried:,} inputs, {failures} kinds of failure", flush=True)
    print(f"{total:,} inputs, {failed} kinds of failure")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
