"""The vectors that a pretrained model computes from texts, on disk."""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import save_array
from gile_lightning.common.progress import Progress
from gile_lightning.data.pretrained import backends
from gile_lightning.data.pretrained.backends import Backend
from gile_lightning.data.pretrained.model import dimension

GROUP = 65_536  # texts that are sorted by length at a time; 64 MB of subword ids
CHUNK = 1_024  # texts per file; at most these are encoded twice after a run is killed

Ids = NDArray[np.int32]


class VectorStore:
    """Vectors by the subword ids of their texts, common to all corpora, splits and settings.

    Files are added, never changed, and each is written whole or not at all. So encoding that was
    killed goes on where it was. Per text a file has a 128-bit hash and a vector.

    Args:
        name: of the model, as `find_model` takes it.
        cache: the folder of the cache; the vectors lie below it, by the identity of model and
            backend.
        backend: what runs the model.
    """

    def __init__(self, name: str, cache: Path, backend: Backend = "torch") -> None:
        self.name = name
        self.backend: Backend = backend
        self.folder = cache / "vectors" / backends.identity(name, backend)
        self._dtype = np.dtype([("key", "S16"), ("vector", np.float32, dimension(name))])
        self._open()

    def _open(self) -> None:
        """Sort the keys of all files.

        No file stays open: a large corpus has more files than a process may have open.
        """
        self._files = sorted(self.folder.glob("[0-9]*.npy"))
        of_files = [self._read(file)["key"].copy() for file in self._files]
        keys = np.concatenate([np.empty(0, "S16"), *of_files])
        places = [_places(number, len(own)) for number, own in enumerate(of_files)]
        order = keys.argsort()
        self._keys = keys[order]
        self._places = np.concatenate([np.empty((0, 2), np.int32), *places])[order]

    def _read(self, file: Path) -> NDArray[np.void]:
        try:
            content: NDArray[np.void] = np.load(file, mmap_mode="r")
        except (EOFError, OSError, ValueError) as error:
            raise InputError(
                f"{file}: not readable ({error}); if it is broken, delete it and all *.done files "
                "beside it, and its texts will be encoded anew"
            ) from error
        return content

    def __len__(self) -> int:
        return len(self._keys)

    def fill(
        self,
        texts: Iterable[tuple[Ids, NDArray[np.int64]]],
        total: int | None = None,
        device: torch.device | str = "cpu",
        mark: str | None = None,
    ) -> None:
        """Encode the texts that have no vectors yet; one process at a time.

        Args:
            texts: flat subword ids [N] and their counts [B], batch after batch.
            total: number of texts, if known, for the progress bar.
            device: where to compute.
            mark: a name for these texts, which are skipped when it comes again.

        Raises:
            InputError: the cache cannot be written, or there is no such model.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{self.folder}: cannot be written ({error.strerror}); set data.cache_dir, or the "
                "environment variable XDG_CACHE_HOME, to a folder that can"
            ) from error
        done = self.folder / f"{mark}.done"
        with FileLock(self.folder / "lock"):
            for file in self.folder.glob(".*.npy.*"):  # of a process that was killed
                file.unlink()
            self._open()  # another process may have added some
            if mark is not None and done.exists():
                return
            with Progress("encoding texts", total, "texts") as shown:
                for rows in _groups(texts):
                    self._fill(rows, device, shown)
            if mark is not None:
                done.touch()

    def _fill(self, rows: list[Ids], device: torch.device | str, shown: Progress) -> None:
        keys, first = np.unique(np.array(list(map(_key, rows)), dtype="S16"), return_index=True)
        missing = first[~self._has(keys)]
        missing = missing[[len(rows[i]) > 0 for i in missing]]
        missing = missing[np.argsort([len(rows[i]) for i in missing], kind="stable")]
        shown.advance(len(rows) - len(missing))
        added, places = [], []
        for start in range(0, len(missing), CHUNK):
            chunk = [rows[i] for i in missing[start : start + CHUNK]]
            counts = torch.tensor([len(row) for row in chunk], device=device)
            flat = torch.from_numpy(np.concatenate(chunk)).to(device)
            vectors = backends.encode(self.name, flat, counts, self.backend)
            content = np.empty(len(chunk), self._dtype)
            content["key"] = [_key(row) for row in chunk]
            content["vector"] = vectors.cpu().numpy()
            last = int(self._files[-1].stem) if self._files else -1
            file = self.folder / f"{last + 1:07}.npy"
            save_array(file, content)
            added.append(content["key"])
            places.append(_places(len(self._files), len(chunk)))
            self._files.append(file)
            shown.advance(len(chunk))
        if added:
            new = np.concatenate(added)
            order = new.argsort()
            at = self._keys.searchsorted(new[order])
            self._keys = np.insert(self._keys, at, new[order])
            self._places = np.insert(self._places, at, np.concatenate(places)[order], axis=0)

    def _has(self, keys: NDArray[np.bytes_]) -> NDArray[np.bool_]:
        if not len(self._keys):
            return np.zeros(len(keys), dtype=bool)
        found: NDArray[np.bool_] = self._keys[self._at(keys)] == keys
        return found

    def _at(self, keys: NDArray[np.bytes_]) -> NDArray[np.int64]:
        return np.minimum(self._keys.searchsorted(keys), len(self._keys) - 1)

    def find(self, subwords: Ids, counts: NDArray[np.int64]) -> Tensor:
        """Return the vectors [B, d] of texts; zeros for a text without a subword.

        Args:
            subwords: flat ids [N].
            counts: of the texts [B].

        Raises:
            InputError: a vector is missing, since `fill` has not seen the text.
        """
        vectors = np.zeros((len(counts), *self._dtype["vector"].shape), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if not len(filled):
            return torch.from_numpy(vectors)
        rows = np.split(subwords, counts.cumsum()[:-1])
        keys = np.array([_key(rows[i]) for i in filled], dtype="S16")
        if not self._has(keys).all():
            raise InputError(
                f"{self.folder}: vectors are missing; delete the *.done files there, and the texts "
                "will be looked at again"
            )
        places = self._places[self._at(keys)]
        for number in np.unique(places[:, 0]):
            own = places[:, 0] == number
            vectors[filled[own]] = self._read(self._files[number])["vector"][places[own, 1]]
        return torch.from_numpy(vectors)


def _places(number: int, size: int) -> NDArray[np.int32]:
    """Return the file and the row in it [n, 2] of every vector of a file."""
    return np.stack([np.full(size, number), np.arange(size)], axis=1).astype(np.int32)


def _key(row: Ids) -> bytes:
    return blake2b(row.tobytes(), digest_size=16).digest()


def _groups(texts: Iterable[tuple[Ids, NDArray[np.int64]]]) -> Iterator[list[Ids]]:
    group: list[Ids] = []
    for subwords, counts in texts:
        group += np.split(subwords, counts.cumsum()[:-1]) if len(counts) else []
        if len(group) >= GROUP:
            yield group
            group = []
    yield group
