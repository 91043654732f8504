"""What MkDocs calls while it builds the site; see mkdocs.yml."""

from pathlib import Path
from typing import Any

from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

from gile_site.checking import differences, problems
from gile_site.equations import draw
from gile_site.links import FILES, MOVED, ROOT, relink
from gile_site.pages import generated

log = get_plugin_logger("gile_site")
_SOURCES = {page: source for source, page in MOVED.items() if source != "docs/README.md"}


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, and those that are elsewhere in the repository."""
    for source, page in (MOVED | FILES).items():
        if source.startswith("docs/"):
            file = files.get_file_from_path(source.removeprefix("docs/"))
            if file is not None:
                files.remove(file)
        if source != "docs/README.md":
            files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    for page, text in generated().items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links of the repository into those of the site."""
    name = page.file.src_uri
    if page.file.generated_by and name not in _SOURCES:
        return markdown
    return relink(markdown, _SOURCES.get(name, f"docs/{name}"), name)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Compare a page with what GitHub shows, and draw its equations."""
    name = page.file.src_uri
    if not name.startswith("reference/") and (found := differences(page.markdown, html)):
        log.warning(f"{name}: {found}")
    return draw(html)


def on_post_build(config: Any, **_: Any) -> None:
    """Check the whole site."""
    for problem in problems(Path(config.site_dir)):
        log.warning(problem)
