"""Coverage of the package by the tests, with `--coverage`.

Code is instrumented as it is imported, in every process that runs tests: a line that has run before
costs next to nothing. The process that started them adds up what they saw. Processes that tests
start are not watched.
"""

import json
import tomllib

import pytest

PROCESS = pytest.StashKey()
SEEN = pytest.StashKey()


def pytest_addoption(parser) -> None:
    parser.addoption("--coverage", action="store_true", help="lines and branches that ran")


def settings(config) -> dict:
    """Return the section on coverage of pyproject.toml."""
    return tomllib.loads((config.rootpath / "pyproject.toml").read_text())["tool"]["slipcover"]


def slipcover(config):
    """Return what counts lines and branches of the package's files."""
    from slipcover import Slipcover

    keys = settings(config)
    # A high threshold: code is never exchanged while it runs.
    return Slipcover(
        branch=True,
        d_miss_threshold=2**30,
        source=[str(config.rootpath / keys["source"])],
        exclude_also=keys["exclude-also"],
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config) -> None:
    if not config.getoption("coverage"):
        return
    from slipcover import FileMatcher, ImportManager

    config.stash[PROCESS] = counted = slipcover(config)
    config.stash[SEEN] = []
    if not config.getoption("numprocesses", None):  # a process that runs tests
        ImportManager(counted, FileMatcher(sources=counted.source)).__enter__()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    if "coverage" in getattr(node, "workeroutput", {}):
        node.config.stash[SEEN].append(json.loads(node.workeroutput["coverage"]))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session) -> None:
    config = session.config
    if PROCESS not in config.stash:
        return
    from slipcover import merge_coverage

    coverage = config.stash[PROCESS].get_coverage()
    if hasattr(config, "workeroutput"):
        config.workeroutput["coverage"] = json.dumps(coverage)
        return
    for seen in config.stash[SEEN]:
        merge_coverage(coverage, seen)
    config.stash[SEEN] = coverage
    enough = coverage["summary"]["percent_covered"] >= settings(config)["fail-under"]
    if not enough and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config) -> None:
    if isinstance(coverage := config.stash.get(SEEN, None), dict):
        from slipcover import print_coverage

        print_coverage(coverage, outfile=terminalreporter, missing_width=60, skip_covered=True)
        found, wanted = coverage["summary"]["percent_covered"], settings(config)["fail-under"]
        terminalreporter.line(f"coverage: {found:.2f} % of lines and branches; {wanted} % wanted")
