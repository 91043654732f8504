"""Stands in for `fit` where tests run fits: quick, and as slow or wrong as a test wants.

Its options after --config FILE: --do WHAT, --output FOLDER, and perhaps --ckpt_path last.
"""

import json
import os
import sys
import time
from pathlib import Path


def main():
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    folder = Path(options["--output"])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "starts").open("a") as file:
        file.write(f"{os.getpid()} {options.get('--ckpt_path')}\n")
    (folder / "config.yaml").write_text("")
    environment = f"{os.environ['OMP_NUM_THREADS']} {os.environ.get('CUDA_VISIBLE_DEVICES')}"
    (folder / "environment").write_text(environment)
    what = options["--do"]
    if what == "fail":
        print("what went wrong")
        sys.exit(3)
    while what == "wait" and not (folder.parent / "go").is_file():  # until the test says so
        time.sleep(0.02)
    (folder / "metrics.json").write_text(json.dumps({"seconds": 7.0, "f1": 0.5}))


if __name__ == "__main__":
    main()
