"""The notebooks have outputs as they are kept, and run from top to bottom on small data."""

import gzip
import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from gile_lightning.builtin import ATTACK_BUNDLE

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
SMALL = ["--trainer.max_epochs", "3", "--model.embedding.dim", "50"]
SETTINGS = {  # that take the place of those of the first cell
    "quickstart": {"documents": 600, "epochs": 6},
    "joint_space": {"documents": 400, "epochs": 3},
    "explaining": {"bundle": "BUNDLE", "options": SMALL},
    "attack": {"bundle": "BUNDLE", "options": SMALL},
    "search": {},
    "released_weights": {"documents": 200, "epochs": 1},
}
CHECKS = {  # run after the last cell
    "quickstart": """
assert scores.keys() == {"seen", "unseen"}
assert all(ours > other for ours, other in scores.values())
assert {label["name"] for label in found} == set(new_labels)
assert found[0]["name"] == "Liver Scarring"
""",
    "joint_space": """
model.set_labels(None)
contribution = model.explain(texts[0], labels=[labels.names[0]], top_k=0).labels[0].contributions
bias = float(model.system.network(model.name).output.unit.bias)
product = float(text_vectors[0] @ label_vectors[0])
assert abs(product + bias - contribution["joint space"]) < 1e-3
assert len(found["all"]) == len(pairs) > 10
assert median["all"] < median["nothing"]
assert all(1 <= rank <= len(labels) for values in found.values() for rank in values)
""",
    "explaining": """
for label in explanation.labels:
    assert abs(sum(label.contributions.values()) - label.logit) < 1e-3
words = sum(best.by_word)
parts = ("words", "words of a passage", "character n-grams", "names")
assert abs(words - sum(best.contributions[part] for part in parts)) < 1e-3
assert not other.predicted and other.name == also
""",
    "attack": """
assert all(year >= first_year for year in case_years)
assert not unseen & set(labels.names[: labels.seen])
assert sum(case_years.count(year) for year in later_years) == len(cases) > 20
middle = {name: sorted(rank for rank, _ in ranks)[len(ranks) // 2] for name, ranks in found.items()}
assert max(middle.values()) < len(unseen) / 4
""",
    "search": """
assert len(rows) == 34 and len(study.best_trials) == 11
assert max(row[RATE] for row in rows) < 1 and best[RATE] < 0.1
""",
    "released_weights": """
import torch

system = gile_lightning.load(imported, language="german").system
for language in LANGUAGES:
    ours, theirs = system.network(language), trained.network(language)
    for own, other in ((ours.encoder, theirs.encoder), (ours.output, theirs.output)):
        for a, b in zip(own.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(a, b)
assert all(0 <= share <= 1 for share in hits.values())
""",
}


def test_every_notebook_is_tested():
    assert NOTEBOOKS.keys() == SETTINGS.keys() == CHECKS.keys()


@pytest.fixture(params=NOTEBOOKS)
def kept(request):
    """A notebook as it is kept."""
    return NOTEBOOKS[request.param], nbformat.read(NOTEBOOKS[request.param], as_version=4)


def test_kept_outputs(kept):
    path, notebook = kept
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in codes for output in cell.outputs]
    assert codes[0].metadata["tags"] == ["parameters"]
    assert [cell.execution_count for cell in codes] == [*range(1, len(codes) + 1)]
    assert max(len(cell.source.splitlines()) for cell in codes) <= 20
    assert not any(o.output_type == "error" or o.get("name") == "stderr" for o in outputs)
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any(output.output_type == "stream" for output in outputs)
    assert path.stat().st_size < 400_000


@pytest.fixture(scope="session")
def small_bundle(tmp_path_factory):
    """Every sixth sentence of the bundle in the package, with all techniques."""
    with gzip.open(ATTACK_BUNDLE, "rt", encoding="utf-8") as file:
        bundle = json.load(file)
    sentences = [x for x in bundle["objects"] if x.get("relationship_type") == "uses"]
    left_out = {x["id"] for i, x in enumerate(sentences) if i % 6}
    bundle["objects"] = [x for x in bundle["objects"] if x["id"] not in left_out]
    path = tmp_path_factory.mktemp("bundle") / "small.json"
    path.write_text(json.dumps(bundle), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NOTEBOOKS)
# the kernel's own warnings: sockets and event loops of jupyter_client
@pytest.mark.filterwarnings("ignore")
def test_runs(name, small_bundle):
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    for key, value in SETTINGS[name].items():
        assert f"{key} = " in first.source
        chosen = str(small_bundle) if value == "BUNDLE" else value
        first.source += f"\n{key} = {chosen!r}"
    notebook.cells.append(nbformat.v4.new_code_cell(CHECKS[name]))
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
