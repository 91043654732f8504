"""A small grid that several test files read."""

import pytest

GRID = """
title: Table
config: sweeps/base.yaml
blocks: [general, specific]
set: {data.label_set: $block, model.x: 1}
runs:
  mono:
    english: {data.languages: english}
    german: {data.languages: german, data.train_share: {$block: 0.5}}
columns:
  - {heading: en, key: "english:f1"}
  - {heading: all, mean: true}
rows:
  - name: HAN
    set: {model.x: 2}
    runs: mono
    paper: {general: [1, 2], specific: [3, null]}
    parameters: {general: 50K}
  - {name: popularity, seeds: 1, runs: mono}
  - {name: same, set: {model.x: 2}, runs: mono}
"""


@pytest.fixture
def folder(tmp_path):
    tables = tmp_path / "sweeps/tables"
    tables.mkdir(parents=True)
    (tables / "table1.yaml").write_text(GRID)
    (tmp_path / "sweeps/base.yaml").write_text("model: {x: 0}  # a comment\n")
    return tables
