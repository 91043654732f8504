"""Stands in for the program of a trial: quick, and ends as its value says.

Its options are those of `fit`; --x is between 0 and 1.
"""

import json
import os
import sys
import time
from pathlib import Path


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    folder, x = Path(options["--output"]), float(options["--x"])
    with (folder / "starts").open("a") as file:
        file.write(f"{os.getpid()} {x!r} {options.get('--ckpt_path')}\n")
    print(f"x is {x}")
    (folder / "config.yaml").write_text("")
    (folder / "environment").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "none"))
    hold = folder.parent / "hold"
    time.sleep(0.1)
    while hold.is_file():  # until the test says so
        time.sleep(0.02)
    if (folder.parents[1] / "full").is_file():  # the disk
        sys.exit(os.EX_IOERR)
    result = {"state": "complete", "reason": ""}
    if (folder.parents[1] / "die").is_file():
        (folder.parents[1] / "die").unlink()
        os.kill(os.getpid(), 9)
    elif x > 0.97:
        result = {"state": "failed", "reason": "out of memory: tried to allocate 1 PiB"}
    elif x > 0.7:
        result = {"state": "pruned", "reason": "after epoch 0"}
    else:
        scores = {"val.f1": 1 - (x - 0.3) ** 2, "documents_per_second": 100 * x}
        (folder / "metrics.json").write_text(json.dumps({**scores, "seconds": 0.1}))
    (folder / "trial.json").write_text(json.dumps(result))
    sys.exit(0 if result["state"] != "failed" else 1)


if __name__ == "__main__":
    main()
