"""Peak memory of encoding a small and a large generated corpus, in processes of their own.

python tests/benchmarks/encoding_memory.py [--documents 20000 400000] [--num_proc 1] [--json FILE]

With several processes the peak is that of the one that reads and writes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENCODE = """
import resource, sys, time
from pathlib import Path
from gile_lightning.data import BioASQ

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

documents, cache = int(sys.argv[1]), Path(sys.argv[2])
imports = peak()
data = BioASQ(str(cache / "raw"), cache_dir=cache, num_proc=int(sys.argv[3]))
start = time.perf_counter()
data.prepare_data()
seconds = time.perf_counter() - start
data.setup()
print(imports, peak(), documents / seconds, len(data.languages["english"].text.vocabulary))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=[20_000, 400_000])
    parser.add_argument("--num_proc", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    results = []
    print("documents   MiB after imports   peak MiB   documents/s   vocabulary")
    for documents in args.documents:
        with tempfile.TemporaryDirectory() as cache:
            write = [sys.executable, "-m", "gile_lightning.data.synthetic", f"{cache}/raw"]
            quiet = {**os.environ, "PYTHONWARNINGS": "ignore"}
            subprocess.run([*write, "--documents", str(documents)], check=True, env=quiet)
            time.sleep(1)
            encoded = subprocess.run(
                [sys.executable, "-c", ENCODE, str(documents), cache, str(args.num_proc)],
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        imports, peak, speed, words = map(float, encoded.stdout.split())
        print(f"{documents:9,}   {imports:17,.0f}   {peak:8,.0f}   {speed:11,.0f}   {words:10,.0f}")
        results.append({"documents": documents, "peak_mib": peak, "documents_per_second": speed})
    if len(results) > 1:
        print(f"ratio of the peaks: {results[-1]['peak_mib'] / results[0]['peak_mib']:.2f}")
    if args.json:
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
