"""Turn the authors' released Keras weights into a checkpoint.

python -m gile_lightning.import_weights FILE.h5 --args args.json --output DIR
"""

from pathlib import Path

from gile_lightning.commands.launcher import CONFIG
from gile_lightning.commands.parser import command, parse
from gile_lightning.common.console import show
from gile_lightning.common.errors import InputError


def import_weights(
    file: Path,
    args: Path | None = None,
    output: Path | None = None,
    word_vectors: Path | None = None,
    labels: Path | None = None,
    languages: list[str] | str | None = None,
) -> Path:
    """Turn the authors' released Keras weights into a checkpoint.

    The checkpoint is an ordinary one, with encoders that compute what the released code does. The
    files hold neither words nor labels. evaluate and fit --start_from take both from their data;
    predict needs the word vectors in the checkpoint, and labels there or of its own. To evaluate a
    model with linear output layers, which know labels by number alone, give both here.

    Args:
        file: the weights, epoch_N-weights.h5.
        args: the model's settings, args.json; without it they are inferred.
        output: the run folder to write; by default runs/import_weights/NAME.
        word_vectors: folder with the languages' word vectors (english.pkl.gz, ...).
        labels: folder with the languages' labels in the order of the training data - in the
            authors' format (LANGUAGE.json, or train/LANGUAGE.json), or as JSON lines with "name"
            (LANGUAGE.jsonl).
        languages: their names where there is no args.json: English first in the bilingual models.
    """
    # --help need not wait for torch
    from gile_lightning.released.importing import released_checkpoint
    from gile_lightning.training.checkpoint import BEST, STATE, AtomicCheckpointIO

    folder = (output or Path("runs/import_weights") / file.stem).expanduser()
    if (folder / CONFIG).is_file():
        raise InputError(f"{folder}: holds a run already; choose another --output")
    checkpoint = released_checkpoint(file, args, word_vectors, labels, languages)
    AtomicCheckpointIO().save_checkpoint(checkpoint, folder / BEST)
    (folder / CONFIG).write_text(checkpoint[STATE]["config"], encoding="utf-8")
    return folder


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the run folder."""
    program = "python -m gile_lightning.import_weights"
    options = parse(import_weights, args, program, positional=True)
    folder = import_weights(**options)
    show(f"run folder: {folder}", output=folder)
    return folder


if __name__ == "__main__":
    main()
