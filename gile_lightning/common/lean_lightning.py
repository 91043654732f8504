"""Import Lightning without the slow imports that it seldom needs.

``import lightning`` takes 5 s of CPU time, and 4 s of them go to names that few programs use:

- ``torch._dynamo``, of which Lightning needs a class, for ``isinstance``, and a decorator;
- ``torchmetrics``, of which it needs two classes, but whose ``__init__`` imports all metrics, with
  `scipy.signal` and `transformers`;
- `matplotlib`, with which torchmetrics draws.

Stand-ins replace these modules only while Lightning is imported. Later imports get the real ones:
``torch.compile``, torchmetrics and plots of metrics work as always.
"""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any


def install() -> None:
    """Import Lightning this way from now on, unless it is imported already."""
    if "lightning" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds Lightning, and imports it among stand-ins."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != "lightning":
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                with suppress(ValueError):
                    sys.meta_path.remove(self)
                with _stand_ins():
                    execute(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextmanager
def _stand_ins() -> Iterator[None]:
    made = {name: make() for name, make in _MAKERS.items() if name not in sys.modules}
    sys.modules.update(made)
    try:
        yield
    finally:
        for name, module in made.items():
            if isinstance(module, _Package):
                module.close()
            elif sys.modules.get(name) is module:
                del sys.modules[name]


class _Compiled(type):
    """Metaclass of the stand-in for ``OptimizedModule``: its instances are the compiled modules."""

    def __instancecheck__(cls, instance: Any) -> bool:
        dynamo = sys.modules.get("torch._dynamo")
        real = getattr(dynamo, "OptimizedModule", cls)
        return real is not cls and isinstance(instance, real)


def _dynamo() -> ModuleType:
    from torch._compile import _disable_dynamo  # as `disable`, at the time of the first call

    module = ModuleType("torch._dynamo")
    module.OptimizedModule = _Compiled("OptimizedModule", (), {})  # type: ignore[attr-defined]
    module.disable = (  # type: ignore[attr-defined]
        lambda function, recursive=True, reason=None: _disable_dynamo(function, recursive)
    )
    return module


class _Package(ModuleType):
    """torchmetrics with two of its classes; all of it when anything else is asked for."""

    _names = ("torchmetrics.metric.Metric", "torchmetrics.collections.MetricCollection")
    _lock = RLock()
    _open = _running = False

    def __getattr__(self, name: str) -> Any:
        place = next((path for path in self._names if path.endswith(f".{name}")), None)
        if self._open and place is not None:
            import_module("torchmetrics.utilities")  # which has to come first
            return getattr(import_module(place.rpartition(".")[0]), name)
        with self._lock:
            if type(self) is _Package and not self._running:
                self._running = True
                spec = self.__dict__["__spec__"]
                self.__path__ = spec.submodule_search_locations
                spec.loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
        return ModuleType.__getattribute__(self, name)

    def close(self) -> None:
        """Import all of it from now on: an import of a submodule asks for ``__path__`` first."""
        self._open = False
        self.__dict__.pop("__path__", None)


def _torchmetrics() -> ModuleType:
    spec = find_spec("torchmetrics")
    assert spec is not None  # Lightning needs it
    module = module_from_spec(spec)
    module.__class__ = _Package
    vars(module).update(
        _open=True, _logger=logging.getLogger("torchmetrics"), __version__=version("torchmetrics")
    )
    return module


def _plot() -> ModuleType:
    def draw(*args: Any, **kwargs: Any) -> Any:
        return import_module(module.__name__).plot_single_or_multi_val(*args, **kwargs)

    module = ModuleType("torchmetrics.utilities.plot")
    types = dict.fromkeys(("_AX_TYPE", "_PLOT_OUT_TYPE"), object)
    vars(module).update(types, plot_single_or_multi_val=draw)
    return module


_MAKERS: dict[str, Callable[[], ModuleType]] = {
    "torch._dynamo": _dynamo,
    "torchmetrics": _torchmetrics,
    "torchmetrics.utilities.plot": _plot,
}
