"""Files that belong to a study or a trial, for Optuna's dashboard."""

from pathlib import Path

import optuna
from optuna.artifacts import FileSystemArtifactStore, get_all_artifact_meta, upload_artifact

ARTIFACTS = "artifacts"  # in the study's folder


def keep(folder: Path, owner: optuna.Trial | optuna.Study, path: Path) -> None:
    """Keep a copy of a file as an artifact; one of the same name is replaced.

    Args:
        folder: the study's.
        owner: a trial that is running, or a study.
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
