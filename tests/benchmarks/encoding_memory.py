"""Peak memory of encoding a small and a large generated corpus, in processes of their own.

python tests/benchmarks/report.py --only encoding_memory

With several processes the peak is that of the one that reads and writes.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from gile_lightning.builtin import write_bioasq

ENCODE = """
import sys, time
from pathlib import Path
from measuring import highest_memory
from gile_lightning.data import BioASQ

documents, cache = int(sys.argv[1]), Path(sys.argv[2])
imports = highest_memory()
data = BioASQ(str(cache / "raw"), cache_dir=cache, num_proc=int(sys.argv[3]))
start = time.perf_counter()
data.prepare_data()
seconds = time.perf_counter() - start
data.setup()
words = len(data.tasks["english"].tokenizer.vocabulary)
print(imports, highest_memory(), documents / seconds, words)
"""


def measure(
    _rounds: int = 1, documents: Sequence[int] = (20_000, 400_000), num_proc: int = 1
) -> list[dict[str, object]]:
    """Return the figures of corpora of these numbers of documents; each is encoded once."""
    rows = []
    for count in documents:
        with tempfile.TemporaryDirectory() as cache:
            write_bioasq(Path(cache) / "raw", documents=count)
            time.sleep(1)
            encoded = subprocess.run(
                [sys.executable, "-c", ENCODE, str(count), cache, str(num_proc)],
                check=True,
                cwd=Path(__file__).parent,  # where it finds `measuring`
                stdout=subprocess.PIPE,
                text=True,
            )
        imports, peak, speed, words = map(float, encoded.stdout.split())
        rows.append(
            {
                "encoding": f"{count:,} documents",
                "MiB after imports": imports,
                "peak MiB": peak,
                "x the first peak": peak / float(rows[0]["peak MiB"]) if rows else 1.0,
                "documents/s": speed,
                "vocabulary": words,
            }
        )
    return rows
