"""Training, evaluation, encoders, feeding, scaling in one process: tables and one JSON file.

It takes about a quarter of an hour. Beside it are programs of their own for AiTextML, the memory of
encoding, and micro-F1.

python tests/benchmarks/report.py [--rounds 3] [--threads 2] [--only training ...] [--json FILE]
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import evaluation
import feeding
import han
import scaling
import torch
import training
from measuring import machine, table, write

Rows = list[dict[str, object]]


def _feeding(rounds: int) -> Rows:
    found = feeding.measure(rounds, 12_000)
    return [{"feeding": name, "measured": value} for name, value in found.items()]


def _han(rounds: int) -> Rows:
    found = han.measure(rounds)
    return [
        {"encoder": name} | {key: value for key, value in row.items() if key != "ratios"}
        | {f"x {twin}": ratio for twin, ratio in row["ratios"].items()}
        for name, row in found.items()
        if isinstance(row, dict)
    ]  # fmt: skip


BENCHMARKS: dict[str, Callable[[int], Rows]] = {
    "training": training.measure,
    "metrics": lambda rounds: evaluation.metrics(512, rounds),
    "evaluation": evaluation.evaluations,
    "encoders": _han,
    "feeding": _feeding,
    "scaling": scaling.measure,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    results: dict[str, object] = {"machine": machine()}
    print(results["machine"], end="\n\n")
    for name in args.only:
        torch.set_num_threads(args.threads)  # some benchmarks are of one thread
        rows = BENCHMARKS[name](args.rounds)
        results[name] = rows
        print(table(rows), end="\n\n", flush=True)
        write(results, args.json)


if __name__ == "__main__":
    main()
