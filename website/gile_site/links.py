"""Where the files of the repository are on the site, and links between them."""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

# pages that have another place on the site than in the repository
MOVED = {
    "docs/start.md": "index.md",
    "docs/README.md": "index.md",  # its table of pages is the navigation
    "README.md": "readme.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "tests/gpu/README.md": "gpu_tests.md",
}
# files that pages link to, and that are given out as they are
FILES = {
    "LICENSE": "licences/LICENSE.txt",
    "gile_lightning/builtin/attack/LICENSE.txt": "licences/ATTACK.txt",
    "CITATION.cff": "licences/CITATION.txt",
}
SHIPPED = "reference/shipped.md"

_LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")


def on_site(path: str) -> str | None:
    """Return where a file of the repository is on the site, perhaps with an anchor.

    >>> on_site("docs/data.md"), on_site("sweeps/best.yaml"), on_site("tox.ini")
    ('data.md', 'reference/shipped.md#best.yaml', None)
    """
    if path in MOVED or path in FILES:
        return (MOVED | FILES)[path]
    folder, _, name = path.partition("/")
    if folder == "sweeps" and name.endswith(".yaml") and "/" not in name:
        return f"{SHIPPED}#{name}"
    return name if folder == "docs" else None


def relink(text: str, source: str, page: str) -> str:
    """Turn the links of a file of the repository into those of its page on the site.

    A link that leads nowhere is left as it is, for MkDocs to complain about.

    Args:
        text: Markdown.
        source: the path of the file in the repository.
        page: its path on the site.

    >>> relink("[a](../README.md#b) [c](d.md)", "docs/e.md", "e.md")
    '[a](readme.md#b) [c](d.md)'
    """

    def link(match: re.Match[str]) -> str:
        opening, target, anchor, closing = match[1], match[2], match[3] or "", match[4]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = on_site(path)
        if place is None or not (ROOT / path).is_file():
            return match[0]
        return opening + posixpath.relpath(place, posixpath.dirname(page)) + anchor + closing

    return _LINK.sub(link, text)
