"""Label new texts, also with labels that did not exist at training time.

python -m gile_lightning.predict --checkpoint RUN --input texts.jsonl --labels labels.jsonl
"""

from pathlib import Path
from typing import Literal

from gile_lightning.commands.parser import command, parse


def predict(
    checkpoint: Path,
    input: str = "-",
    output: str = "-",
    labels: Path | None = None,
    label_language: str | None = None,
    top_k: int | None = None,
    threshold: float | Literal["tuned", "labels"] | None = None,
    language: str | None = None,
    format: Literal["auto", "jsonl", "csv", "tsv", "text"] = "auto",
    batch_size: int = 256,
    device: str = "auto",
    pretrained_backend: Literal["auto", "torch", "torch-bfloat16", "openvino-int8"] | None = None,
    rerank: bool = False,
    label_changes: Path | None = None,
    explain: str | None = None,
    explain_labels: list[str] | None = None,
) -> None:
    """Label new texts, also with labels that did not exist at training time.

    Writes a line of JSON per text: {"id": ..., "labels": [{"name": ..., "score": ...}, ...]},
    best label first. A label that has a URI has it as "uri".

    Args:
        checkpoint: a checkpoint file, or a run folder for its best one; or a folder that export
            wrote, also at the Hugging Face hub (user/name).
        input: texts, one per line: JSON with the columns that the model was trained with, of which
            some may be empty, or with "text" (or "title" and "abstract"), and perhaps an "id"; a
            table (.csv) of these; plain text; or Annif's .tsv, whose URIs are not read. The id is
            the line number where none is given. - is standard input.
        output: where the lines go; - is standard output.
        labels: labels to use in place of the model's: JSON lines with "name" and "description",
            perhaps "synonyms" and "parents" (lists of names) and "uri"; a CSV or TSV table of
            these; or a vocabulary as it is published: SKOS, MeSH (d*.bin, desc*.xml), a bundle of
            ATT&CK. Their texts are put together as in training.
        label_language: of the labels (en), if their file has several; by default that of training.
        top_k: labels per text; 5 unless a threshold is given.
        threshold: give only labels whose score, a probability, is above this; tuned for the
            threshold that was best on the validation documents, labels for one of each label.
        language: of the texts that do not say their own, if the model has several. A record does
            in its "language" (or the column that the corpus had): the name or ISO 639-1 code. A
            model of one language refuses records of others if its corpus had such a column.
        format: of the input; auto looks at its name (.csv, .tsv) and its first line.
        batch_size: texts scored at a time.
        device: cpu, cuda, or auto.
        pretrained_backend: what runs a pretrained model, by default what ran it in training:
            torch-bfloat16 is faster on a GPU, and on a CPU that multiplies bfloat16 fast; auto
            takes it there, and torch elsewhere; openvino-int8 is faster on a CPU, and less exact.
        rerank: whether the second stage beside the checkpoint, which gile_lightning.rerank has
            fitted, ranks the best labels of each text anew.
        label_changes: a file of labels of the model that were renamed, merged, split or withdrawn
            since training: a table with the columns "old" and "new", or JSON lines with these.
        explain: why each text gets its labels, as a page (FILE.html, of the first 100 texts), as
            JSON (FILE.json), or on the terminal in place of the lines (-).
        explain_labels: names of further labels to explain, predicted or not, as a list:
            '[Liver, Fibrosis]'.
    """
    # --help need not wait for torch
    from gile_lightning.commands.labelling import label_documents

    label_documents(
        checkpoint=checkpoint,
        input=input,
        output=output,
        labels=labels,
        label_language=label_language,
        top_k=top_k,
        threshold=threshold,
        language=language,
        format=format,
        batch_size=batch_size,
        device=device,
        pretrained_backend=pretrained_backend,
        rerank=rerank,
        label_changes=label_changes,
        explain=explain,
        explain_labels=explain_labels,
    )


@command
def main(args: list[str] | None = None) -> None:
    """Run the command."""
    predict(**parse(predict, args, "python -m gile_lightning.predict"))


if __name__ == "__main__":
    main()
