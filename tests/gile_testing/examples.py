"""What fits with the parts of `my_parts` in this folder compute in another process: TITLE..."""

import json
import sys
from pathlib import Path

from gile_lightning import evaluate, load

if __name__ == "__main__":
    sys.path.insert(0, ".")
    text = ["a bird in the liver"]
    scores = {title: load(title).predict(text, top_k=2) for title in sys.argv[1:]}
    scores["test"] = evaluate.main(["--checkpoint", "Reader", "--data.cache_dir", "fresh"])
    Path("elsewhere.json").write_text(json.dumps(scores))
