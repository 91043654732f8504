"""Mutate the package and count the mutants that the tests catch: `python tests/mutation/run.py`."""

import argparse
import ast
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from child import Timed, forked, import_libraries, run
from groups import GROUPS, ROOT, files
from mutants import Mutant, sample

SECONDS = 4.0  # CPU time of a mutant's tests, as they took without one
EQUIVALENT = Path(__file__).with_name("equivalent.txt")


def traced(group: str, output: Path) -> dict[str, dict]:
    """Return seconds and lines of each test that passes, one process per test file."""
    package, tests = files(group)
    found: dict[str, dict] = {}
    for path in tests:
        cache = output / f"trace-{path.relative_to(ROOT / 'tests')}-{group}.json".replace("/", "-")
        changed = max(file.stat().st_mtime for file in [path, *package])
        if not cache.exists() or cache.stat().st_mtime < changed:
            plugin = Timed(map(str, package))
            result, _ = forked(lambda p=path, t=plugin: run([str(p)], t), 600)
            if result is None or result["status"] != 0:
                print(
                    f"left out, as it fails without a mutant: {path} {result and result['failed']}"
                )
                continue
            cache.write_text(json.dumps(result["tests"]))
        found |= json.loads(cache.read_text())
    for test in found.values():
        test["files"] = {line.rpartition(":")[0] for line in test["lines"]}
    return found


def statement(path: str, line: int) -> list[range]:
    """Return the lines of the statement, then of the functions and classes around it."""
    around = []
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if not isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        body = getattr(node, "body", None)
        start, end = getattr(node, "lineno", line), getattr(node, "end_lineno", line)
        start = min([start, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if start <= line <= (end or start):
            whole = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if body and not whole:  # its first lines alone
                end = max(start, body[0].lineno - 1)
            if line <= end:
                around.append(range(start, end + 1))
    return sorted(around, key=len)


def chosen(mutant: Mutant, tests: dict[str, dict]) -> dict[str, float]:
    """Return the tests that run the mutated statement, with their seconds, in their order.

    What runs as the module is imported is not seen: all tests of the function, of the file, or of
    the group. The file that mirrors the mutated one comes first, then the quickest.
    """
    hit: list[str] = []
    for span in statement(mutant.path, mutant.line):
        wanted = {f"{mutant.path}:{line}" for line in span}
        hit = hit or [name for name, test in tests.items() if not wanted.isdisjoint(test["lines"])]
    hit = hit or [name for name, test in tests.items() if mutant.path in test["files"]] or [*tests]
    mirror = f"/test_{Path(mutant.path).name}"
    quickest: dict[str, tuple[bool, float]] = {}
    for name in hit:
        file = name.split("::")[0]
        own = not file.endswith(mirror), tests[name]["seconds"]
        quickest[file] = min(own, quickest.get(file, own))
    order, left = {}, SECONDS
    for name in sorted(hit, key=lambda n: (*quickest[n.split("::")[0]], tests[n]["seconds"])):
        seconds = tests[name]["seconds"]
        if seconds <= left or not order:
            left -= seconds
            order[name] = seconds
    return order


def outcome(order: dict[str, float], mutated: tuple[str, str] | None) -> dict:
    """Run tests in this order; return whether they passed."""
    if not order:
        return {"outcome": "survived", "by": "no test runs it", "seconds": 0}
    paths = dict.fromkeys(name.split("::")[0] for name in order)
    limit = 10 * sum(order.values()) + 20
    result, seconds = forked(lambda: run(paths, Timed(chosen=order), mutated), limit)
    if result is None:
        return {
            "outcome": "caught",
            "by": "time" if seconds > limit else "died",
            "seconds": seconds,
        }
    if result["status"] in (0, 5):  # all passed, or none was found
        return {"outcome": "survived", "by": f"{len(order)} tests", "seconds": seconds}
    by = result["failed"] or f"status {result['status']}"
    return {"outcome": "caught", "by": by, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", default=[*GROUPS], help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--count", type=int, default=200, help="mutants of a group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path(tempfile.gettempdir()) / "mutants")
    parser.add_argument("--again", action="store_true", help="run the tests on survivors anew")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    argued = {*EQUIVALENT.read_text(encoding="utf-8").splitlines()}
    import_libraries([path for group in given.groups for path in files(group)[1]])
    for group in given.groups:
        start = time.perf_counter()
        tests = traced(group, given.output)
        plain = outcome({name: test["seconds"] for name, test in tests.items()}, None)
        if plain["outcome"] == "caught":
            sys.exit(f"{group}: tests fail without a mutant, in another order: {plain['by']}")
        done = given.output / f"{group}-{given.seed}.jsonl"
        old = [json.loads(line) for line in done.read_text().splitlines()] if done.exists() else []
        if given.again:
            old = [line for line in old if line["outcome"] == "caught"]
        known = {line["mutant"]: line for line in old}
        now = []
        with done.open("a") as out:
            for mutant in sample(files(group)[0], given.count, given.seed):
                name = str(mutant)
                if name not in known:
                    mutated = mutant.path, mutant.source()
                    known[name] = {"mutant": name, **outcome(chosen(mutant, tests), mutated)}
                    print(json.dumps(known[name]), file=out, flush=True)
                now.append(known[name])
        report(group, now, argued, (time.perf_counter() - start) / 60)


def report(group: str, mutants: list[dict], argued: set[str], minutes: float) -> None:
    survived = [mutant for mutant in mutants if mutant["outcome"] == "survived"]
    left = [mutant for mutant in survived if mutant["mutant"] not in argued]
    for mutant in left:
        print(f"{mutant['mutant']} ({mutant['by']})")
    print(
        f"{group}: {len(mutants)} mutants, {len(mutants) - len(survived)} caught, "
        f"{len(survived) - len(left)} change nothing, {len(left)} survived, {minutes:.1f} minutes",
        flush=True,
    )


if __name__ == "__main__":
    main()
