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


class Fit(NamedTuple):
    """How the layers of a file go with a layout.

    ``pairs`` are the components with their layers as far as they fit, ``sizes`` what the file
    tells of the layout's open sizes, ``problem`` says what does not fit, if anything.
    """

    layout: Layout
    pairs: list[tuple[Component, KerasLayer]]
    sizes: dict[str, int]
    problem: str | None


def read_weights(h5_path: Path | str, args_path: Path | str | None = None) -> ReleasedModel:
    """Read a released model: GILE's (Keras 2) or the multilingual baselines' (Keras 1).

    The numbers in the tensors' names count up in the order in which the authors' code made the
    layers, so only their order matters. Without ``args.json`` the order's cause (number of
    languages, sharing, kind of layers and output) is inferred from the shapes, and the languages
    are called ``language_0``, ``language_1``, ... (0 is English in the bilingual models).

    Args:
        h5_path: ``epoch_N-weights.h5``.
        args_path: ``args.json`` of the same model.

    Raises:
        InputError: a file is missing or damaged, ``args.json`` describes another model than the
            tensors make up or one that would compute something else here, or the tensors are
            those of no released model.
    """
    file = read_tensors(Path(h5_path))
    arguments: dict[str, Any] = {}
    if args_path is None:
        fit = infer(file)
        if file.keras_1 and fit.layout.layer_kind != "dense":
            raise InputError(
                f"{h5_path}: the file does not tell the activation of its recurrent layers; give "
                "the model's args.json too"
            )
    else:
        arguments = read_arguments(Path(args_path))
        fit = expect(file, layout_of(arguments, Path(args_path)), args_path)
        joint_dim = arguments.get("ladim")
        if fit.layout.gile and joint_dim not in (None, fit.sizes[JOINT]):
            raise InputError(
                f"{args_path}: ladim is {joint_dim!r}, but the joint space of {h5_path} has "
                f"{fit.sizes[JOINT]}; the two files are not of the same model"
            )
    return build(fit, arguments)


def expect(file: WeightFile, layout: Layout, args_path: Path | str) -> Fit:
    """Fit the layers to the layout that ``args.json`` describes.

    Raises:
        InputError: they do not fit.
    """
    fit = fit_layers(file, layout)
    if fit.problem is None:
        return fit
    other = _fitting(fits(file))
    if other is not None:
        raise InputError(
            f"{args_path} describes {layout}, but the tensors of {file.path} are those of "
            f"{other.layout}; give the args.json of the same model"
        )
    raise InputError(f"{file.path}: {fit.problem} for {layout} ({args_path})")


def infer(file: WeightFile) -> Fit:
    """Find the layout of the layers.

    Raises:
        InputError: none fits.
    """
    tried = list(fits(file))
    fit = _fitting(tried)
    if fit is not None:
        return fit
    if not tried:
        names = [layer.name for layers in file.layers.values() for layer in layers]
        raise InputError(
            f"{file.path}: no released model has the layers {', '.join(names)}; some are missing "
            "or too many, and the model's args.json tells which"
        )
    nearest = max(tried, key=lambda fit: len(fit.pairs))
    raise InputError(
        f"{file.path}: {nearest.problem} for {nearest.layout}, which comes closest; if the model "
        "is another, give its args.json"
    )


def fits(file: WeightFile) -> Iterator[Fit]:
    """Yield the fit of every layout that has as many layers of each kind as the file."""
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
                yield fit_layers(file, layout)


def _fitting(tried: Iterable[Fit]) -> Fit | None:
    """Return the fit without a problem; there is at most one.

    A classifier fits any number of labels. Were sets of a single label allowed, the attention
    blocks of several languages could as well be classifiers: their networks have one column.
    """
    fitting = (fit for fit in tried if fit.problem is None and 1 not in fit.sizes.values())
    return next(fitting, None)


def fit_layers(file: WeightFile, layout: Layout) -> Fit:
    """Pair the layout's components with the file's layers, kind by kind in order."""
    fit = Fit(layout, [], {}, _wrong_counts(file, layout))
    if fit.problem is not None:
        return fit
    layers = {kind: iter(found) for kind, found in file.layers.items()}
    for component in layout.components():
        layer = next(layers[_kind(file, component)])
        columns = component.columns
        if isinstance(columns, str):
            columns = fit.sizes.setdefault(columns, layer.columns)
        rows = component.rows if isinstance(component.rows, int) else fit.sizes[component.rows]
        problem = layer.wrong_shape(rows, columns)
        if problem is not None:
            return fit._replace(problem=problem)
        fit.pairs.append((component, layer))
    return fit


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


def build(fit: Fit, arguments: Mapping[str, Any]) -> ReleasedModel:
    """Make the model and copy the weights into it."""
    layout = fit.layout
    model = ReleasedModel(
        layout.languages,
        layout.sharing,
        layout.layer_kind,
        label_counts={name: fit.sizes.get(labels_of(name)) for name in layout.languages},
        joint_dim=fit.sizes[JOINT] if layout.gile else None,
        input_dim=layout.input_dim,
        hidden_dim=layout.hidden_dim,
        activation=arguments.get("gruact", "tanh"),
        args=arguments,
    )
    with torch.no_grad():
        for component, layer in fit.pairs:
            module = model.get_submodule(component.target)
            kernel, *others = map(torch.from_numpy, layer.weights())
            # Keras multiplies from the right, x W; nn.Linear holds W transposed
            values = [kernel.T if isinstance(module, nn.Linear) else kernel, *others]
            for parameter, value in zip(module.parameters(), values, strict=True):
                parameter.copy_(value)
    return model
