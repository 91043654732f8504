"""The navigation of the site, and where files of the repository are on it."""

import re

import yaml

from gile_site.links import FILES, MOVED, ROOT, on_site, relink
from gile_site.pages import API, INDEX, RUN, SHIPPED, SWEEP
from gile_site.sections import PAGES


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, which names a function of Python."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: suffix)


def places(nav):
    for item in nav:
        for place in item.values() if isinstance(item, dict) else [item]:
            yield from [place] if isinstance(place, str) else places(place)


CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader)
NAVIGATION = list(places(CONFIG["nav"]))


def test_every_page_is_in_the_navigation_once():
    files = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/results/*.md")]
    pages = {on_site(str(page.relative_to(ROOT))) for page in files}
    generated = {INDEX, RUN, SWEEP, SHIPPED, *API, *(page.path for page in PAGES)}
    assert sorted(NAVIGATION) == sorted(pages | generated | set(MOVED.values()))


def test_moved_files_exist():
    assert [path for path in [*MOVED, *FILES] if not (ROOT / path).is_file()] == []


def test_links_follow_the_files():
    text = (
        "[a](docs/data.md#labels) [b](https://x.org/docs/data.md) [c](sweeps/best.yaml) "
        "[d](tox.ini) [e](#here) ![f](docs/assets/picture.svg) [g](docs/missing.md)"
    )
    assert relink(text, "README.md", "readme.md") == (
        "[a](data.md#labels) [b](https://x.org/docs/data.md) [c](reference/shipped.md#best.yaml) "
        "[d](tox.ini) [e](#here) ![f](assets/picture.svg) [g](docs/missing.md)"
    )
    assert relink("[a](start.md) [b](../LICENSE)", "docs/best.md", "best.md") == (
        "[a](index.md) [b](licences/LICENSE.txt)"
    )


def test_the_theme_asks_nobody():
    theme = CONFIG["theme"]
    assert theme["font"] is False  # else those of Google
    assert "repo_url" not in CONFIG  # else GitHub is asked for stars
    for script in CONFIG["extra"]["polyfills"] + CONFIG["extra_css"]:
        assert (ROOT / theme["custom_dir"] / script).is_file()
    for file in (ROOT / theme["custom_dir"]).rglob("*.*"):
        assert not re.search(r"https?://", file.read_text())
