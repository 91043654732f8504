"""The shipped configuration of ATT&CK, from a bundle to the labels of a new text."""

import json

from gile_lightning import fit, predict
from gile_testing import baseline_runs, runs
from gile_testing.attack import bundle, technique, uses

SEEN = ["Keyboard Listening", "Disk Wiping", "Mail Forwarding", "Screen Filming"]
LATER = ["Clock Turning", "Printer Jamming", "Router Flooding"]


def test_a_small_bundle(tmp_path):
    techniques = [technique(f"T{i}", name) for i, name in enumerate([*SEEN, *LATER])]
    sentences = [
        uses(number, f"T{i}", f"Program {chr(97 + number % 7)} of group nine does {name.lower()}.")
        | {"created": f"{2021 if name in LATER or number % 4 == 0 else 2019}-01-02T00:00:00Z"}
        for i, name in enumerate([*SEEN, *LATER])
        for number in range(100 * i, 100 * i + 7)
    ]
    file = tmp_path / "attack.json"
    file.write_text(bundle(*techniques, *sentences))
    output = tmp_path / "run"
    keys = {"data.path": file, "data.cache_dir": tmp_path / "cache", "trainer.max_epochs": 3}
    config = baseline_runs.SWEEPS / "attack.yaml"
    done = runs.call(fit.main, *runs.small(config, output, keys, ()))
    assert done.status is None, done.errors
    counts = {"seen": len(SEEN) * 2, "unseen": len(LATER) * 7}
    for kind, documents in counts.items():
        assert done.result[f"test.{kind}.documents"] == documents
        assert done.result[f"test.{kind}.average_precision"] > 0.9
    text, answer = tmp_path / "text.txt", tmp_path / "answer.jsonl"
    text.write_text("It began with router flooding.\n")
    options = ("--input", text, "--output", answer, "--top_k", 1)
    done = runs.call(predict.main, "--checkpoint", output, *options)
    assert done.status is None, done.errors
    assert [x["name"] for x in json.loads(answer.read_text())["labels"]] == ["Router Flooding"]
