"""LibMultiLabel's KimCNN, with the settings of its own examples, and random word vectors.

Its examples start from GloVe, which cannot be fetched everywhere. The best of 50 epochs by P@5 on
validation documents is scored; it stops early after five epochs without a better one.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from libmultilabel.nn import data_utils, nn_utils
from peer import RETRAINED, Corpus, Documents, Measured, main

LENGTH, DIM = 300, 300


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train and score."""
    nn_utils.set_seed(1337)
    device = nn_utils.init_device(use_cpu=True)
    classes = [f"{i:06}" for i in range(corpus.seen)]  # which it sorts by name
    sets = [_tokens(x, corpus.seen) for x in (corpus.train, corpus.validation, corpus.test)]
    word_dict = data_utils._build_word_dict(
        [document["text"] for document in sets[0]], min_vocab_freq=2, specials=["<pad>", "<unk>"]
    )
    vectors = torch.randn(len(word_dict), DIM) * 0.1

    def loader(documents: list[dict[str, Any]], shuffle: bool) -> Any:
        options = {"max_seq_length": LENGTH, "batch_size": 64, "data_workers": 0}
        return data_utils.get_dataset_loader(
            documents, classes, device, shuffle=shuffle, word_dict=word_dict, **options
        )

    with measured.stage("train"):
        model = nn_utils.init_model(
            "KimCNN",
            {"filter_sizes": [2, 4, 8], "num_filter_per_size": 128, "embed_dropout": 0.2},
            classes,
            embed_vecs=vectors,
            learning_rate=0.001,
            val_metric="P@5",
            monitor_metrics=["P@5"],
            silent=True,
        )
        trainer = nn_utils.init_trainer(
            str(own / "kimcnn"),
            epochs=50,
            patience=5,
            early_stopping_metric="P@5",
            val_metric="P@5",
            silent=True,
            use_cpu=True,
        )
        trainer.fit(model, loader(sets[0], shuffle=True), loader(sets[1], shuffle=False))
        best = torch.load(trainer.checkpoint_callback.best_model_path, weights_only=False)
        model.load_state_dict(best["state_dict"])
    scores = np.full((len(sets[2]), len(corpus.names)), np.nan, dtype=np.float32)
    with measured.stage("score"), torch.inference_mode():
        model.eval()
        batches = loader(sets[2], shuffle=False)
        found = [model.network(batch)["logits"].numpy() for batch in batches]
    scores[:, : corpus.seen] = np.concatenate(found)
    return {
        "scores": {"libmultilabel_kimcnn": scores},
        "new_label": {"libmultilabel_kimcnn": RETRAINED},
    }


def _tokens(documents: Documents, seen: int) -> list[dict[str, Any]]:
    return [
        {
            "text": data_utils.tokenize(text)[:LENGTH],
            "label": [f"{i:06}" for i in labels if i < seen],
        }
        for text, labels in zip(*documents, strict=True)
    ]


if __name__ == "__main__":
    main("libmultilabel", run)
