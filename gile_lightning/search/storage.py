"""The storage of studies: a file, or a database that several machines share."""

import re
import socket
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.artifacts import FileSystemArtifactStore, get_all_artifact_meta, upload_artifact
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.common.errors import InputError
from gile_lightning.search.outage import with_retries

ARTIFACTS = "artifacts"  # in the study's folder
_JOURNAL = "journal://"
_PATIENCE = 4  # missed heartbeats, after which a trial counts as dead
# in errors of databases: another worker has just made the same tables
_RACES = ("already exists", "duplicate key", "UNIQUE constraint", "Duplicate entry")
_ATTEMPTS = 5  # to make the tables of an empty database
_LOCKED = 120  # seconds that a worker waits while others write to an SQLite file


def default_url(folder: Path) -> str:
    """Return the URL of the SQLite file in a study's folder."""
    return f"sqlite:///{folder.resolve() / 'study.db'}"


def open_storage(url: str, heartbeat: int = 15) -> BaseStorage:
    """Open a storage, or make it.

    Args:
        url: the URL of a database, or `journal://PATH` of a journal file.
        heartbeat: seconds between two heartbeats of a trial; journal files have none.

    Raises:
        InputError: it cannot be reached, or another version of Optuna made its tables.
    """
    if url == "sqlite://" or ":memory:" in url:
        raise InputError(
            f"sweep.storage, {url}: a database in memory is lost with its process; name a file, as "
            "in sqlite:///study.db"
        )
    from sqlalchemy.exc import SQLAlchemyError  # imported here and below: it takes half a second

    try:
        if url.startswith(_JOURNAL):
            path = Path(url.removeprefix(_JOURNAL))
            path.parent.mkdir(parents=True, exist_ok=True)
            return JournalStorage(JournalFileBackend(str(path)))
        return _database(url, heartbeat)
    except (SQLAlchemyError, ImportError, OSError, RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"sweep.storage, {without_password(url)}: {reason}") from error


class _Database(RDBStorage):
    """A database whose short outage stops no heartbeats of a trial, nor the news of its end."""

    def record_heartbeat(self, trial_id: int) -> None:
        with suppress(optuna.exceptions.StorageInternalError):  # the next one may arrive
            super().record_heartbeat(trial_id)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        read = super().get_trial
        return with_retries(lambda: read(trial_id))

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        change = super().set_trial_state_values
        return with_retries(lambda: change(trial_id, state, values))


def _database(url: str, heartbeat: int) -> RDBStorage:
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    if url.startswith("sqlite:///"):
        Path(url.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        # connections are closed after each use: kept ones would be open files, to the end
        engine: dict[str, Any] = {"connect_args": {"timeout": _LOCKED}, "poolclass": NullPool}
    else:
        engine = {"pool_pre_ping": True}  # a server may have closed an idle connection
    for attempt in range(_ATTEMPTS):
        try:
            return _Database(
                url,
                engine_kwargs=engine,
                heartbeat_interval=heartbeat,
                grace_period=_PATIENCE * heartbeat,
            )
        except SQLAlchemyError as error:  # another worker makes the same tables
            made = any(word in str(error) for word in _RACES)
            if not made or attempt == _ATTEMPTS - 1:
                raise
        time.sleep(1)
    raise AssertionError


def has_heartbeats(url: str) -> bool:
    """Whether a storage notices by itself that a trial's process is gone."""
    return not url.startswith(_JOURNAL)


def without_password(url: str) -> str:
    """Return a URL that can be shown.

    >>> without_password("postgresql://me:secret@host/db")
    'postgresql://me:***@host/db'
    >>> without_password("postgresql://host/db?user=me&password=secret&port=1")
    'postgresql://host/db?user=me&password=***&port=1'
    """
    scheme, separator, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    shown = f"{scheme}{separator}{user.partition(':')[0]}:***@{place}" if at else url
    return re.sub(r"(password=)[^&]*", r"\1***", shown)


def keep_artifact(folder: Path, owner: optuna.Trial | optuna.Study, path: Path) -> None:
    """Copy a file to the artifacts that Optuna's dashboard shows, in place of one of its name.

    Args:
        folder: the study's folder.
        owner: a running trial, or a study.
        path: the file.
    """
    (folder / ARTIFACTS).mkdir(exist_ok=True)
    store = FileSystemArtifactStore(folder / ARTIFACTS)
    for known in get_all_artifact_meta(owner):
        if known.filename == path.name:
            with path.open("rb") as file:
                store.write(known.artifact_id, file)
            return
    upload_artifact(artifact_store=store, file_path=str(path), study_or_trial=owner)


def quiet_optuna() -> None:
    """Silence Optuna's messages about experimental features and trials: a sweep reports trials."""
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def host() -> str:
    """Name this machine."""
    return socket.gethostname()
