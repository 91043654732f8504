"""Take a trained model elsewhere: a folder for the Hugging Face hub, or ONNX.

python -m gile_lightning.export --checkpoint RUN --output FOLDER
"""

from pathlib import Path
from typing import Literal

from gile_lightning.commands.parser import command, parse
from gile_lightning.common.console import show
from gile_lightning.common.errors import InputError


def export(
    checkpoint: Path,
    output: Path,
    format: Literal["hub", "onnx"] = "hub",
    title: str | None = None,
    license: str = "unknown",
    license_name: str | None = None,
    license_link: str | None = None,
    push: str | None = None,
    private: bool = False,
    language: str | None = None,
    labels: Literal["frozen", "vectors"] = "frozen",
    without_matchers: bool = False,
) -> Path:
    """Take a trained model elsewhere: a folder for the Hugging Face hub, or ONNX.

    The folder for the hub has the whole model without a pickle, and a card with its scores;
    gile_lightning.load(FOLDER) reads it. The folder with ONNX has the tensors of one language and
    predict.py, which needs onnxruntime and no torch.

    Args:
        checkpoint: a checkpoint file, or a run folder for its best one; or an exported folder.
        output: the folder to write, new or empty, or one whose export was cut off.
        format: hub or onnx.
        title: the name of the model in its card; by default that of the folder.
        license: of the model in its card: an identifier of the hub, such as apache-2.0; or other.
        license_name: of a licence without an identifier.
        license_link: to its text.
        push: upload the folder to the Hugging Face hub under this name, user/name.
        private: whether a new name there can be read by its owner alone.
        language: for onnx, one of the model's languages; needed if it has several.
        labels: for onnx, whether the labels are part of the model (frozen), or are given with
            every call as vectors, which labels.onnx makes from any text.
        without_matchers: for onnx, leave the matchers of a model out. It then scores otherwise than
            the whole model, and its probabilities are not calibrated.
    """
    # --help need not wait for torch
    from gile_lightning.common.hub import check_name
    from gile_lightning.exporting.hub_folder import export_for_hub, metrics_of
    from gile_lightning.exporting.hub_folder import push as push_folder
    from gile_lightning.exporting.model_card import Licence
    from gile_lightning.exporting.new_folder import new_folder
    from gile_lightning.exporting.onnx_folder import export_to_onnx
    from gile_lightning.systems.loading import read_model

    of_onnx = {
        "language": language is not None,
        "labels": labels != "frozen",
        "without_matchers": without_matchers,
    }
    for key in (key for key, given in of_onnx.items() if given and format != "onnx"):
        raise InputError(f"--{key} has no effect with --format {format}: it is for onnx")
    with new_folder(output) as folder:
        licence = Licence(license, license_name, license_link)
        if push is not None:
            check_name(push)
        about = title or push or folder.resolve().name, licence, metrics_of(checkpoint)
        model = read_model(checkpoint)
        if format == "hub":
            export_for_hub(model, folder, *about)
        else:
            export_to_onnx(model, folder, *about, language, labels == "frozen", without_matchers)
    if push is not None:
        address = push_folder(folder, push, private)
        show(f"pushed: {address}", pushed=address)
    return folder


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the folder."""
    folder = export(**parse(export, args, "python -m gile_lightning.export"))
    show(f"exported: {folder}", output=folder)
    return folder


if __name__ == "__main__":
    main()
