"""Checks of the built site: nothing is fetched, every link arrives, pages look as on GitHub."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

_FETCHED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}
_COUNTED = ("ul", "ol", "li", "table", "tr", "pre", "blockquote")


class _Page(HTMLParser):
    """The ids of a page, where its links lead, and what a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        found = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.ids.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif _FETCHED.get(tag, "") in found and found.get("rel") != "canonical":
            self.fetched.append(found[_FETCHED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with a built site, in a line each.

    Args:
        site: its folder.
    """
    pages = {
        str(file.relative_to(site)): _Page(file.read_text(encoding="utf-8"))
        for file in site.rglob("*.html")
        if file.name != "404.html"  # for servers: its links begin at the root
    }
    for name, page in pages.items():
        for url in page.fetched:
            if urlsplit(url).scheme or url.startswith("//"):
                yield f"{name}: {url} is fetched from elsewhere"
            elif not (site / posixpath.dirname(name) / urlsplit(url).path).exists():
                yield f"{name}: there is no {url}"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), parts.path))
            target = name if not parts.path else path
            if not (site / target).is_file():
                yield f"{name}: the link {link} leads nowhere"
            elif target in pages and unquote(parts.fragment) not in pages[target].ids | {""}:
                yield f"{name}: the link {link} leads to no place of the page"
    for file in site.rglob("*.css"):
        for url in re.findall(r"url\(['\"]?((?:https?:)?//[^)]*)\)", file.read_text()):
            yield f"{file.relative_to(site)}: {url} is fetched from elsewhere"


def differences(markdown: str, page: str) -> str:
    """Say which lists, tables and blocks of code a page has that GitHub would not show, or lacks.

    Args:
        markdown: the page as it is written.
        page: its HTML on the site.
    """
    github = _Page(MarkdownIt("commonmark").enable("table").render(markdown)).tags
    here = _Page(page).tags
    return ", ".join(
        f"{here[tag]} <{tag}> where GitHub shows {github[tag]}"
        for tag in _COUNTED
        if github[tag] != here[tag]
    )
