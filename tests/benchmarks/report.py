"""All benchmarks but that of prediction in one process: tables, one JSON file, a page.

It takes seven minutes on two cores with nothing beside. ``--check`` says whether the ratios of a
page still come out; if not, it leaves with status 1.

python tests/benchmarks/report.py [--rounds 3] [--threads 2] [--only training ...] [--json FILE]
    [--page PAGE.md] [--check PAGE.json]
"""

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aitextml
import encoding
import encoding_memory
import evaluation
import exchange
import feeding
import han
import launching
import pages
import roofline
import scaling
import thresholded
import torch
import training
import vectors
from measuring import machine, table, write

BENCHMARKS: dict[str, Callable[..., list[dict[str, object]]]] = {
    "training": training.measure,
    "roofline": roofline.measure,
    "metrics": evaluation.metrics,
    "evaluation": evaluation.evaluations,
    "thresholded": thresholded.measure,
    "encoders": han.measure,
    "feeding": feeding.measure,
    "encoding": encoding.measure,
    "vectors": vectors.measure,
    "scaling": scaling.measure,
    "exchange": exchange.measure,
    "launching": launching.measure,
    "aitextml": aitextml.measure,
    "encoding_memory": encoding_memory.measure,
}
AS_DOCUMENTED: Mapping[str, Mapping[str, Any]] = {}


def main(
    arguments: list[str] | None = None, sizes: Mapping[str, Mapping[str, Any]] = AS_DOCUMENTED
) -> None:
    """Run benchmarks; ``sizes`` has those of a benchmark, or of the machine's matrix product."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, default=list(BENCHMARKS))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--check", type=Path)
    args = parser.parse_args(arguments)
    try:
        kept = pages.read(args.check) if args.check else {}
    except (OSError, ValueError) as error:
        parser.error(f"--check: {error}")
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    how = {"rounds": args.rounds, "huge pages": os.environ.get("THP_MEM_ALLOC_ENABLE") == "1"}
    results: dict[str, object] = {"machine": machine(**sizes.get("machine", {})) | how}
    print(results["machine"], end="\n\n")
    for name in args.only:
        torch.set_num_threads(args.threads)  # some benchmarks are of one thread
        rows = BENCHMARKS[name](args.rounds, **sizes.get(name, {}))
        results[name] = rows
        print(table(rows), end="\n\n", flush=True)
        write(results, args.json)
    if args.page:
        pages.write_page(args.page, results, BENCHMARKS)
    if args.check:
        ratios = pages.compared(kept, results)
        print("\n".join(map(str, ratios)) or "none of these benchmarks has a ratio")
        if not all(ratio.within for ratio in ratios):
            raise SystemExit(1)


if __name__ == "__main__":
    main()
