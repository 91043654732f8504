"""The Hugging Face hub: folders of files under names such as ``user/name``."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gile_lightning.common.errors import InputError

_NAME = re.compile(r"[\w.-]+/[\w.-]+?(?:@[\w./-]+)?")


def is_name(text: str) -> bool:
    """Return whether a text can be a name at the hub: ``user/name``, or ``user/name@revision``.

    >>> is_name("user/name"), is_name("user/name@v1"), is_name("a/b/c"), is_name("../name")
    (True, True, False, False)
    """
    return _NAME.fullmatch(text) is not None and not text.startswith(".")


def download(name: str, files: Sequence[str]) -> Path:
    """Return a folder with files of the hub; those that were downloaded before are not again.

    Args:
        name: ``user/name``, perhaps with ``@`` and a branch, tag or commit.
        files: patterns of the files to download; others are left where they are.

    Raises:
        InputError: there is no such name at the hub, or the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download  # which takes a moment to import

    repository, _, revision = name.partition("@")
    with _explained(f"{name}: no such file or folder here, and not read from the Hugging Face hub"):
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=files))


def upload(folder: Path, name: str, files: Sequence[str], private: bool = False) -> str:
    """Upload the files of a folder, in one commit; the name is made if it is new.

    Args:
        folder: the folder.
        name: ``user/name``.
        files: patterns of the files to upload; files there that match and are not in the folder
            are deleted.
        private: whether a new name can be read by its owner alone.

    Returns:
        The address of the page.

    Raises:
        InputError: the hub refuses it, or cannot be reached.
    """
    check_name(name)
    from huggingface_hub import HfApi

    with _explained(f"{name}: not uploaded to the Hugging Face hub"):
        api = HfApi()
        address = api.create_repo(name, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=name,
            folder_path=folder,
            allow_patterns=list(files),
            delete_patterns=list(files),
            commit_message="Model from gile_lightning",
        )
    return str(address)


def check_name(name: str) -> None:
    """Refuse what cannot be the name of a repository.

    Raises:
        InputError: it is not of the form ``user/name``.
    """
    if not is_name(name) or "@" in name:
        raise InputError(f"{name!r} is no name at the hub: give user/name (--push)")


@contextmanager
def _explained(problem: str) -> Iterator[None]:
    from huggingface_hub import errors

    try:
        yield
    except (errors.OfflineModeIsEnabled, errors.LocalEntryNotFoundError, ConnectionError) as error:
        why = "it cannot be reached, or HF_HUB_OFFLINE is set"
        raise InputError(f"{problem}: {why}; check the name and the network") from error
    except (errors.LocalTokenNotFoundError, errors.RepositoryNotFoundError) as error:
        why = "it has no such name that you may use; if it is private, or yours to write"
        raise InputError(f"{problem}: {why}, log in first (hf auth login)") from error
    except errors.RevisionNotFoundError as error:
        raise InputError(f"{problem}: the revision after @ is not there") from error
    except (errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{problem}: {reason or type(error).__name__}") from error
