"""The texts of encoded documents, which their shards do not hold."""

from collections.abc import Container, Iterable, Sequence

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import Document


def joined(pieces: str | Sequence[str | list[str]]) -> str:
    """Return a document as one text; a piece may be split into words already."""
    if isinstance(pieces, str):
        return pieces
    texts = (piece if isinstance(piece, str) else " ".join(piece) for piece in pieces)
    return " ".join(text for text in texts if text)


def find_texts(
    documents: Iterable[Document], ids: Sequence[str], labels: Container[str]
) -> list[str]:
    """Return the texts of some documents.

    Args:
        documents: all raw documents.
        ids: of the documents that are wanted.
        labels: a document counts only if it has one of these; so it was when it was encoded.

    Raises:
        InputError: a document is not there any more.
    """
    wanted, found = set(ids), dict[str, str]()
    for document in documents:
        if document.id in wanted and document.id not in found:
            text = joined(document.pieces)
            if text.strip() and any(label in labels for label in document.labels):
                found[document.id] = text
        if len(found) == len(wanted):
            break
    if missing := wanted - found.keys():
        raise InputError(
            f"{len(missing):,} documents that were encoded are not in the corpus any more, such as "
            f"{min(missing)!r}: give the corpus of the training (--data.path)"
        )
    return [found[i] for i in ids]
