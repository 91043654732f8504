"""The tensors of a Keras weight file (HDF5), layer by layer."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, of_the_machine

SMALL, RATIO = 2**25, 100  # bytes, and times the size of the file; Keras does not compress
Array = NDArray[np.floating[Any]]

_TENSOR = re.compile(r"(?:.*/)?(time_distributed|dense|gru)_(\d+)([/_])(\w+)")
PARTS_KERAS_2 = {
    "time_distributed": ("kernel", "bias"),
    "dense": ("kernel", "bias"),
    "gru": ("kernel", "recurrent_kernel", "bias"),
}
_PARTS_1 = {  # there a time-distributed layer's tensors are named as those of the dense one inside
    "dense": ("W", "b"),
    "gru": tuple(f"{part}_{gate}" for gate in "zrh" for part in "WUb"),
}


class KerasLayer(NamedTuple):
    """A layer such as ``gru_2`` and its tensors by their names in the file."""

    kind: str
    number: int
    tensors: dict[str, Array]

    @property
    def name(self) -> str:
        """Kind and number."""
        return f"{self.kind}_{self.number}"

    @property
    def gates(self) -> int:
        """Into how many tensors Keras 1 split the kernel of a recurrent layer: one per gate."""
        return 3 if len(self.tensors) == 9 else 1

    @property
    def columns(self) -> int:
        """Columns of the first tensor, which is the kernel unless Keras 1 split it."""
        first = next(iter(self.tensors.values()))
        return first.shape[-1] if first.ndim else 0

    def wrong_shape(self, rows: int, columns: int) -> str | None:
        """Say which tensor is not that of a layer with a kernel [rows, columns], if one is not."""
        width = columns // self.gates
        shapes: list[tuple[int, ...]] = [(rows, width), (width,)]
        if self.kind == "gru":
            shapes.insert(1, (columns // 3, width))
        for (name, tensor), shape in zip(self.tensors.items(), shapes * self.gates, strict=True):
            if tensor.shape != shape:
                return f"{name} has shape {list(tensor.shape)}, expected {list(shape)}"
        return None

    def weights(self) -> list[Array]:
        """Return kernel, recurrent kernel (if it is recurrent) and bias, gates side by side."""
        tensors = list(self.tensors.values())
        step = len(tensors) // self.gates
        return [
            np.concatenate(tensors[part::step], axis=-1, dtype=np.float64) for part in range(step)
        ]


class WeightFile(NamedTuple):
    """The layers of a file, those of a kind in the order of their numbers."""

    path: Path
    keras_1: bool
    layers: dict[str, list[KerasLayer]]


def read_tensors(path: Path) -> WeightFile:
    """Read all tensors of a file.

    Raises:
        InputError: the file is missing or no HDF5 file, a tensor in it is unknown, incomplete,
            there twice, or not made of finite numbers.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; give the .h5 file of a released model")
    found: dict[str, Array] = {}
    import h5py  # which takes a tenth of a second

    try:
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, item: (
                    found.update({name: _values(item, path)})
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise any
        if of_the_machine(error):
            raise
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not a whole HDF5 file ({reason:.200}); get it again") from error
    if not found:
        raise InputError(f"{path}: no tensor in the file; is it a Keras weight file?")
    keras_1, tensors = _by_layer(path, found)
    parts = _PARTS_1 if keras_1 else PARTS_KERAS_2
    layers: dict[str, list[KerasLayer]] = {kind: [] for kind in parts}
    for (kind, number), by_part in sorted(tensors.items()):
        separator = "_" if keras_1 else "/"
        names = {part: f"{kind}_{number}{separator}{part}" for part in parts[kind]}
        missing = [name for part, name in names.items() if part not in by_part]
        if missing:
            raise InputError(f"{path}: no tensor {', '.join(missing)}")
        ordered = {name: by_part[part] for part, name in names.items()}
        layers[kind].append(KerasLayer(kind, number, ordered))
    return WeightFile(path, keras_1, layers)


def _values(tensor: Any, path: Path) -> Array:
    """Read a tensor, if its values are in the file itself."""
    if tensor.external or tensor.is_virtual:
        raise InputError(f"{path}: {tensor.name} lies in another file, which is not read")
    if tensor.nbytes > max(SMALL, RATIO * path.stat().st_size):
        raise InputError(
            f"{path}: {tensor.name} has shape {list(tensor.shape)}, far more than the file holds"
        )
    return np.asarray(tensor[()])


def _by_layer(
    path: Path, found: dict[str, Array]
) -> tuple[bool, dict[tuple[str, int], dict[str, Array]]]:
    """Group tensors by kind and number of their layer, and say whether Keras 1 named them."""
    matches = {name: _TENSOR.fullmatch(name) for name in found}
    separators = {match[3] for match in matches.values() if match}
    keras_1 = separators == {"_"}
    parts = _PARTS_1 if keras_1 else PARTS_KERAS_2
    unknown = []
    tensors: dict[tuple[str, int], dict[str, Array]] = {}
    for name, match in matches.items():
        if not match or match[4] not in parts.get(match[1], ()):
            unknown.append(name)
            continue
        value = found[name]
        if not np.issubdtype(value.dtype, np.floating) or not np.isfinite(value).all():
            raise InputError(f"{path}: {name} holds values that are not finite numbers")
        layer = tensors.setdefault((match[1], int(match[2])), {})
        if not np.array_equal(layer.setdefault(match[4], value), value):
            raise InputError(f"{path}: {name} is there twice, with different values")
    if unknown:
        raise InputError(
            f"{path}: {', '.join(unknown[:5])}{', ...' * (len(unknown) > 5)}: unknown to all "
            "released models"
        )
    return keras_1, tensors
