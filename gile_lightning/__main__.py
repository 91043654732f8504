"""List the commands."""

COMMANDS = {
    "fit": "train one model, test its best checkpoint, leave a run folder",
    "evaluate": "score a checkpoint on seen, unseen and all labels",
    "predict": "label new texts, also with labels that did not exist at training time",
    "prepare": "only the data step: raw corpus to encoded shards",
    "sweep": "search for the best settings: a study of many fits",
    "low_resource": "train on ever larger parts of one language's documents",
    "dashboard": "make a page of a W&B project that shows its runs side by side",
    "reproduce": "run a table of the paper and print it beside the published figures",
    "export": "take a trained model elsewhere: a folder for the Hugging Face hub, or ONNX",
    "import_weights": "turn the authors' released Keras weights into a checkpoint",
}


def main(args: list[str] | None = None) -> None:
    """Print the commands."""
    print("Commands, each with --help:")
    for name, text in COMMANDS.items():
        print(f"  python -m gile_lightning.{name:14} {text}")


if __name__ == "__main__":
    main()
