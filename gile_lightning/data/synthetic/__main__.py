"""Write the built-in corpus from the command line."""

import argparse
from pathlib import Path
from typing import get_args

from gile_lightning.data.synthetic.writer import Descriptors, write_bioasq


def main(args: list[str] | None = None) -> None:
    """Write the built-in corpus from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m gile_lightning.data.synthetic",
        description="Write the built-in corpus in the file formats of BioASQ and of NLM.",
    )
    parser.add_argument("directory", type=Path, help="where the files go; made if missing")
    parser.add_argument("--documents", type=int, default=12_000, help="number of articles")
    parser.add_argument("--seed", type=int, default=0, help="decides the articles")
    parser.add_argument("--descriptors", choices=get_args(Descriptors), default="ascii")
    parser.add_argument("--compress", action="store_true", help="gzip the articles")
    parser.add_argument("--quiet", action="store_true", help="do not report progress")
    given = parser.parse_args(args)
    try:
        write_bioasq(
            given.directory,
            given.documents,
            given.seed,
            descriptors=given.descriptors,
            compress=given.compress,
            progress=not given.quiet,
        )
    except (ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
