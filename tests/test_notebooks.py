"""The notebooks run from top to bottom."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
PRINTED = {
    "quickstart": "average precision on unseen labels",
    "search": "34 trials; on the front: 11",  # as Optuna says of the table beside it
}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
# the kernel's own warnings: sockets and event loops of jupyter_client
@pytest.mark.filterwarnings("ignore")
def test_runs(path):
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(FOLDER)}})
    client.execute()
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in codes)
    printed = "".join(o.get("text", "") for cell in codes for o in cell.outputs)
    assert PRINTED[path.stem] in printed
