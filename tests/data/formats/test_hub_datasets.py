import errno

import datasets
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.hub_datasets import read_dataset

ROWS = datasets.Dataset.from_list([{"id": 1}, {"id": 2}])


def test_rows_have_places(tmp_path):
    ROWS.save_to_disk(tmp_path / "one")
    path = str(tmp_path / "one")
    assert list(read_dataset(path)) == [(f"{path}:1", {"id": 1}), (f"{path}:2", {"id": 2})]


def test_split_is_a_column_if_wanted(tmp_path):
    datasets.DatasetDict(train=ROWS, test=ROWS).save_to_disk(tmp_path / "several")
    path = str(tmp_path / "several")
    assert [(where, fields["part"]) for where, fields in read_dataset(path, "part")] == [
        (f"{path}[{split}]:{row}", split) for split in ("train", "test") for row in (1, 2)
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (".", "a folder without a saved dataset"),
        ("none.jsonl", "no such file$"),
        ("nobody/nothing", "no file or folder here, nor a dataset that can be loaded"),
    ],
)
def test_no_dataset(monkeypatch, tmp_path, path, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        list(read_dataset(path))


def test_a_dataset_on_the_hub_is_streamed(monkeypatch):
    """One of terabytes need not be on the disk."""

    def load(path, streaming):
        assert (path, streaming) == ("nobody/something", True)
        return datasets.IterableDatasetDict(test=ROWS.to_iterable_dataset())

    monkeypatch.setattr(datasets, "load_dataset", load)
    found = list(read_dataset("nobody/something", "part"))
    assert found == [(f"nobody/something[test]:{i}", {"id": i, "part": "test"}) for i in (1, 2)]


def test_a_dataset_is_not_called_damaged_where_too_many_files_are_open(monkeypatch, tmp_path):
    def fail(path):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(datasets, "load_from_disk", fail)
    with pytest.raises(OSError, match="Too many open files"):
        list(read_dataset(str(tmp_path)))
