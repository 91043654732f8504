"""Write a built-in corpus from the command line."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from gile_lightning.builtin.news import LANGUAGES, write_news
from gile_lightning.builtin.writer import Descriptors, write_bioasq
from gile_lightning.common.errors import InputError

_WRITERS: dict[str, Callable[..., None]] = {"bioasq": write_bioasq, "news": write_news}


def main(args: list[str] | None = None) -> None:
    """Write a built-in corpus from the command line."""
    # an option that is left out is absent: the writers have the defaults
    parser = argparse.ArgumentParser(
        prog="python -m gile_lightning.builtin",
        description="Write a built-in corpus in the file formats of the real one.",
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("directory", type=Path, help="where the files go; made if missing")
    parser.add_argument(
        "--corpus", choices=_WRITERS, default="bioasq", help="abstracts (default) or news"
    )
    parser.add_argument(
        "--documents", type=int, help="number of articles (12000), of each language (1500)"
    )
    parser.add_argument("--seed", type=int, help="decides the articles (0)")
    parser.add_argument("--quiet", action="store_true", default=False, help="no progress report")
    bioasq = parser.add_argument_group("bioasq")
    bioasq.add_argument("--descriptors", choices=get_args(Descriptors), help="format (ascii)")
    bioasq.add_argument("--compress", action="store_true", help="gzip the articles")
    news = parser.add_argument_group("news")
    news.add_argument("--languages", nargs="+", choices=LANGUAGES, help="which to write (all)")
    news.add_argument("--paper-labels", action="store_true", help="as many labels as in the paper")
    news.add_argument("--words", type=int, help="mean number of words of an article (200)")
    options: dict[str, Any] = vars(parser.parse_args(args))
    corpus, quiet = options.pop("corpus"), options.pop("quiet")
    others = {"bioasq": ("languages", "paper_labels", "words"), "news": ("descriptors", "compress")}
    for option in others[corpus]:
        if option in options:
            parser.error(f"--{option.replace('_', '-')} is not an option of --corpus {corpus}")
    try:
        _WRITERS[corpus](**options, progress=not quiet)
    except (InputError, ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
