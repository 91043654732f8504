import errno
import json

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.shards.encoded_corpus import FILES, VECTORS, EncodedCorpus


def longer(content):
    return content + b"\0"


def flipped(content):
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize("damage", [longer, flipped, None])
@pytest.mark.parametrize("name", ["train-00000.arrow", "task.json", "meta.json"])
def test_a_damaged_file_is_refused(name, damage, prepared):
    directory = prepared().directory_of_shards()
    EncodedCorpus(directory)
    file = directory / name
    if name == "meta.json":  # which has the checksums of the others
        file.write_bytes(file.read_bytes()[:-20])
    elif damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(InputError, match=rf"{name}: damaged.* delete the folder {directory}, and"):
        EncodedCorpus(directory)


def test_a_folder_of_an_earlier_version_has_no_checksums(prepared):
    data = prepared()
    file = data.directory_of_shards() / "meta.json"
    meta = json.loads(file.read_text())
    names = {path.name for path in file.parent.iterdir()} - {"meta.json"}
    assert set(meta.pop(FILES)) == names
    file.write_text(json.dumps(meta))
    assert len(EncodedCorpus(file.parent).splits["train"]) == len(data.split("train"))


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError()])
@pytest.mark.parametrize("reader", ["datasets.Dataset.from_file", "numpy.load"])
def test_a_sound_file_is_not_called_damaged(reader, error, prepared, monkeypatch):
    def refuse(*args, **kwargs):
        raise error

    directory = prepared().directory_of_shards()
    np.save(directory / VECTORS, np.zeros((1, 2), np.float32))
    monkeypatch.setattr(reader, refuse)
    with pytest.raises(type(error)):
        EncodedCorpus(directory).vectors()


def test_a_share_of_all_documents_is_all_of_them_in_their_order(prepared):
    """Vectors that are kept by the number of documents are then those of these documents."""
    directory = prepared().directory_of_shards()
    plain = EncodedCorpus(directory).splits["train"]
    number = len(plain)
    assert EncodedCorpus(directory, number, seed=1).splits["train"]["id"][:] == plain["id"][:]
    fewer = EncodedCorpus(directory, number - 1, seed=1).splits["train"]["id"][:]
    assert fewer != plain["id"][: number - 1]  # drawn
    assert set(fewer) < set(plain["id"][:])
