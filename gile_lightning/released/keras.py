"""Reads the weights that the authors published: which tensor is which parameter."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import count, product
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import Sharing
from gile_lightning.released.arguments import layout_of, read_arguments
from gile_lightning.released.layout import JOINT, Component, Layout, labels_of
from gile_lightning.released.model import LayerKind, ReleasedModel
from gile_lightning.released.tensors import KerasLayer, WeightFile, read_tensors


class Pairing(NamedTuple):
    """The layers of a file as the components of a layout.

    Attributes:
        layout: of the model.
        pairs: components with their layers, up to the first that does not fit.
        sizes: those that the layout leaves to the file: of label sets and of the joint space.
        problem: the first misfit, in words, if there is one.
    """

    layout: Layout
    pairs: list[tuple[Component, KerasLayer]]
    sizes: dict[str, int]
    problem: str | None


def read_weights(h5_path: Path | str, args_path: Path | str | None = None) -> ReleasedModel:
    """Read a released model: GILE's (Keras 2) or the multilingual baselines' (Keras 1).

    The numbers in the tensors' names count up in the order in which the authors' code made the
    layers, so only their order matters. Without ``args.json`` the order's cause is inferred from
    the shapes: number of languages, sharing, kind of layers and output. The languages are then
    called ``language_0``, ``language_1``, ... (0 is English in the bilingual models).

    Args:
        h5_path: ``epoch_N-weights.h5``.
        args_path: ``args.json`` of the same model.

    Raises:
        InputError: a file is missing or damaged. The tensors are those of no released model. Or
            ``args.json`` describes another model than the tensors make up, or one that would
            compute something else here.
    """
    file = read_tensors(Path(h5_path))
    arguments: dict[str, Any] = {}
    if args_path is None:
        pairing = infer(file)
        if file.keras_1 and pairing.layout.layer_kind != "dense":
            raise InputError(
                f"{h5_path}: the file does not tell the activation of its recurrent layers; give "
                "the model's args.json too"
            )
    else:
        arguments = read_arguments(Path(args_path))
        pairing = expect(file, layout_of(arguments, Path(args_path)), args_path)
        joint_dim = arguments.get("ladim")
        if pairing.layout.gile and joint_dim not in (None, pairing.sizes[JOINT]):
            raise InputError(
                f"{args_path}: ladim is {joint_dim!r}, but the joint space of {h5_path} has "
                f"{pairing.sizes[JOINT]}; the two files are not of the same model"
            )
    return build(pairing, arguments)


def expect(file: WeightFile, layout: Layout, args_path: Path | str) -> Pairing:
    """Pairing the layers to the layout that ``args.json`` describes.

    Raises:
        InputError: they do not fit.
    """
    pairing = pair_layers(file, layout)
    if pairing.problem is None:
        return pairing
    other = _without_problem(pairings(file))
    if other is not None:
        raise InputError(
            f"{args_path} describes {layout}, but the tensors of {file.path} are those of "
            f"{other.layout}; give the args.json of the same model"
        )
    raise InputError(f"{file.path}: {pairing.problem} for {layout} ({args_path})")


def infer(file: WeightFile) -> Pairing:
    """Find the layout of the layers.

    Raises:
        InputError: none fits.
    """
    tried = list(pairings(file))
    pairing = _without_problem(tried)
    if pairing is not None:
        return pairing
    if not tried:
        names = [layer.name for layers in file.layers.values() for layer in layers]
        raise InputError(
            f"{file.path}: no released model has the layers {', '.join(names)}; some are missing "
            "or too many, and the model's args.json tells which"
        )
    nearest = max(tried, key=lambda pairing: len(pairing.pairs))
    raise InputError(
        f"{file.path}: {nearest.problem} for {nearest.layout}, which comes closest; if the model "
        "is another, give its args.json"
    )


def pairings(file: WeightFile) -> Iterator[Pairing]:
    """Yield the pairing with every layout that has as many layers of each kind as the file."""
    total = sum(map(len, file.layers.values()))
    for sharing, layer_kind, gile in product(
        get_args(Sharing), get_args(LayerKind), [False] if file.keras_1 else [False, True]
    ):
        for languages in count(1):
            names = tuple(f"language_{i}" for i in range(languages))
            layout = Layout(names, sharing, layer_kind, gile)
            if languages == 1 and sharing != "none":
                continue  # nobody to share with
            if sum(1 for _ in layout.components()) > total:
                break
            if _wrong_counts(file, layout) is None:
                yield pair_layers(file, layout)


def _without_problem(tried: Iterable[Pairing]) -> Pairing | None:
    """Return the pairing without a problem, if there is one; no file has two.

    A linear output fits any number of labels. Were sets of one label allowed, the attention
    blocks of several languages could as well be outputs: their scores have one column.
    """
    found = (
        pairing for pairing in tried if pairing.problem is None and 1 not in pairing.sizes.values()
    )
    return next(found, None)


def pair_layers(file: WeightFile, layout: Layout) -> Pairing:
    """Pair the layout's components with the file's layers, kind by kind in order."""
    pairing = Pairing(layout, [], {}, _wrong_counts(file, layout))
    if pairing.problem is not None:
        return pairing
    layers = {kind: iter(found) for kind, found in file.layers.items()}
    for component in layout.components():
        layer = next(layers[_kind(file, component)])
        columns = component.columns
        if isinstance(columns, str):
            columns = pairing.sizes.setdefault(columns, layer.columns)
        rows = component.rows if isinstance(component.rows, int) else pairing.sizes[component.rows]
        problem = layer.wrong_shape(rows, columns)
        if problem is not None:
            return pairing._replace(problem=problem)
        pairing.pairs.append((component, layer))
    return pairing


def _kind(file: WeightFile, component: Component) -> str:
    """Return the kind under which the file has a component: Keras 1 named the inner layer."""
    return "dense" if file.keras_1 and component.kind != "gru" else component.kind


def _wrong_counts(file: WeightFile, layout: Layout) -> str | None:
    expected = [_kind(file, component) for component in layout.components()]
    for kind, layers in file.layers.items():
        if len(layers) == expected.count(kind):
            continue
        problem = f"{len(layers)} {kind} layers"
        if layers:
            numbers = [layer.number for layer in layers]
            problem += f" ({', '.join(layer.name for layer in layers)})"
            if len(layers) <= numbers[-1] - numbers[0] < expected.count(kind):
                gaps = sorted({*range(numbers[0], numbers[-1])} - {*numbers})
                problem += f", without {', '.join(f'{kind}_{number}' for number in gaps)}"
        return f"{problem}, expected {expected.count(kind)}"
    return None


def build(pairing: Pairing, arguments: Mapping[str, Any]) -> ReleasedModel:
    """Make the model and copy the weights into it."""
    layout = pairing.layout
    model = ReleasedModel(
        layout.languages,
        layout.sharing,
        layout.layer_kind,
        label_counts={name: pairing.sizes.get(labels_of(name)) for name in layout.languages},
        joint_dim=pairing.sizes[JOINT] if layout.gile else None,
        input_dim=layout.input_dim,
        hidden_dim=layout.hidden_dim,
        activation=arguments.get("gruact", "tanh"),
        args=arguments,
    )
    with torch.no_grad():
        for component, layer in pairing.pairs:
            module = model.get_submodule(component.target)
            kernel, *others = map(torch.from_numpy, layer.weights())
            # Keras multiplies from the right, x W; nn.Linear holds W transposed
            values = [kernel.T if isinstance(module, nn.Linear) else kernel, *others]
            for parameter, value in zip(module.parameters(), values, strict=True):
                parameter.copy_(value)
    return model
