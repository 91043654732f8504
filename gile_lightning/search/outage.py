"""A storage that does not answer: how long workers wait for it, and what they say."""

import time
from collections.abc import Callable
from typing import TypeVar

from optuna.exceptions import StorageInternalError

_ATTEMPTS = 20  # how often in a row a storage may fail; a pause follows each time
_PAUSE = 15.0  # seconds

T = TypeVar("T")


def with_retries(call: Callable[[], T]) -> T:
    """Call a function of a storage, again and again while the storage does not answer."""
    for _ in range(_ATTEMPTS):
        try:
            return call()
        except StorageInternalError:
            time.sleep(_PAUSE)
    return call()


def outage(error: BaseException) -> str | None:
    """Say in a line why a storage does not answer; None if the error is of another kind."""
    if isinstance(error, UnboundLocalError) and error.__context__ is not None:
        # Optuna looks up how far a trial came, and loses the storage's error if it is not told
        error = error.__context__
    if not isinstance(error, StorageInternalError):
        return None
    return str(error.__cause__ or error).strip().splitlines()[0]
