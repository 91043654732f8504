"""The benchmark of exported models runs; `tox -e onnx` has the packages that it needs."""

import json

import pytest

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

import exported

from gile_testing import runs


@pytest.mark.filterwarnings("ignore")  # of the exporter's own packages
def test_exported(tmp_path, capsys):
    texts = tmp_path / "texts.jsonl"
    lines = (json.dumps({"title": "Scarring", "abstractText": f"Of {i} livers."}) for i in range(3))
    texts.write_text("\n".join(lines))
    rows = exported.main([str(runs.trained().output), str(texts), "--rounds", "1"])
    assert [row["model"] for row in rows] == ["PyTorch", *exported.KINDS]
    assert all(row["MB"] > 0.05 for row in rows)
    assert all(row["texts/s"] > 0 for row in rows if row["model"] != "hub")
    assert "texts/s" in capsys.readouterr().out
