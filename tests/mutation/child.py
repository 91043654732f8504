"""Processes that run tests: forked from one that has imported all libraries, not the package."""

import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from groups import ROOT

LATER = ["torch.distributed.tensor", "rdflib"]  # imported by the first test that compares or parses
MEMORY = 6 * 2**30  # bytes that a child may add to what it inherits
OPTIONS = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-n", "0", "--timeout=0"]
OPTIONS += ["-o", "addopts=--import-mode=importlib"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of plugins imported before
OWN = ("gile_lightning", "gile_testing", "tests.", "conftest", "test_", "_pytest", "pytest")


class Timed:
    """Notes each test's CPU time and the lines it ran of `watched`, and which test failed first."""

    def __init__(self, watched: Iterable[str] = (), chosen: dict[str, float] | None = None) -> None:
        self.watched = frozenset(watched)
        self.chosen = chosen
        self.tests: dict[str, dict] = {}
        self.failed = ""
        self.lines: set[tuple[str, int]] = set()

    def pytest_collection_modifyitems(self, items: list) -> None:
        if self.chosen is not None:
            known = {item.nodeid: item for item in items}
            items[:] = [known[name] for name in self.chosen if name in known]
            for item in items:
                limit = 10 * self.chosen[item.nodeid] + 2
                item.add_marker(pytest.mark.timeout(limit, func_only=True))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.lines = set()
        start = time.process_time()
        trace = self._trace if self.watched else None
        threading.settrace(trace)
        sys.settrace(trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            seconds = time.process_time() - start
            lines = sorted(f"{Path(path).relative_to(ROOT)}:{n}" for path, n in self.lines)
            self.tests[item.nodeid] = {"seconds": seconds, "lines": lines}

    def _trace(self, frame, event, argument):
        if frame.f_code.co_filename not in self.watched:
            return None
        self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._trace

    def pytest_runtest_logreport(self, report) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Mutated(MetaPathFinder):
    """Imports one module from other source than its file has."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = str(ROOT / path), source
        self.name = ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")

    def find_spec(self, fullname, path, target=None):
        if fullname != self.name:
            return None
        spec = PathFinder.find_spec(fullname, path)
        spec.loader = loader = SourceFileLoader(fullname, self.path)
        loader.get_code = lambda name: compile(self.source, self.path, "exec", dont_inherit=True)
        return spec


def import_libraries(tests: list[Path]) -> None:
    """Import what a collection of the tests does, without the package and the tests themselves."""
    names, _ = forked(lambda: _collected(tests), 600)
    _lean()
    for name in [*names, *LATER]:  # else a quick test may seem endless
        with suppress(Exception):
            importlib.import_module(name)
    gc.freeze()  # children do not look through all this


def _lean() -> None:
    """Import Lightning as the package does, from a file that is not mutated."""
    path = ROOT / "gile_lightning/common/lean_lightning.py"
    spec = spec_from_file_location("lean_lightning", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.install()


def _collected(tests: list[Path]) -> list[str]:
    pytest.main([*OPTIONS, "--collect-only", *map(str, tests)])
    return [name for name in sys.modules if not name.startswith((*OWN, "__"))]


def run(tests: Iterable[str], plugin: Timed, mutated: tuple[str, str] | None = None) -> dict:
    """Run tests in this process; return the status of pytest, and what the plugin noted."""
    if mutated is not None:
        sys.meta_path.insert(0, _Mutated(*mutated))
    status = int(pytest.main([*OPTIONS, *tests], plugins=[plugin]))
    return {"status": status, "failed": plugin.failed, "tests": plugin.tests}


def forked(work: Callable[[], object], seconds: float) -> tuple[object, float]:
    """Return what the work gives in a fork, None if it died or was late, and the time it took."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        _work(work, folder)
    try:
        while time.perf_counter() - start < seconds:
            if os.waitpid(child, os.WNOHANG)[0]:
                break
            time.sleep(0.01)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it started
        result, took = folder / "result.json", time.perf_counter() - start
        return json.loads(result.read_text()) if result.exists() else None, took
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _work(work: Callable[[], object], folder: Path) -> None:
    try:
        os.setsid()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)
        tempfile.tempdir = None
        sys.dont_write_bytecode = False  # only what is mutated is compiled again and again
        output = os.open(folder / "output", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        part = folder / "result.part"
        part.write_text(json.dumps(work()))
        part.rename(folder / "result.json")
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)
