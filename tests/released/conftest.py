import json

import numpy as np
import pytest

from gile_testing import released_oracle as oracle

LANGUAGES = (
    "english",
    "german",
    "spanish",
    "portuguese",
    "ukrainian",
    "russian",
    "arabic",
    "farsi",
)


@pytest.fixture
def published(tmp_path):
    """Makes files of a family with m languages and random weights.

    Returns the paths of weights and arguments, the tables of names and the weights by layer.
    """

    def make(family, m=1, counts=None, joint=11, change=lambda found: found, **settings):
        share, encoder, output = family
        tables = oracle.names(family, m)
        counts = counts or [5 + i for i in range(m)]
        weights = oracle.draw(tables, counts, joint)
        found = change(oracle.tensors(weights, output == "linear 1"))
        h5 = oracle.write(tmp_path / "weights.h5", found)
        arguments = {
            "languages": list(LANGUAGES[:m]),
            "share": share,
            "enc": encoder,
            "act": "relu",
            "la": output == "gile",
            "laact": "relu",
            "lashare": True if m > 1 else None,
            "ladim": None,
            "gruact": "tanh",
            "wdim": 40,
            "sdim": 100,
            "ddim": 100,
            "wpad": 900,
            "spad": 30,
            "swpad": 30,
        } | settings
        args = tmp_path / "args.json"
        args.write_text(json.dumps({k: v for k, v in arguments.items() if v is not ...}))
        return h5, args, tables, weights

    return make


@pytest.fixture(scope="session")
def x():
    """Two padded documents [2, 900, 40] of random sentence lengths."""
    rng = np.random.default_rng(7)
    padded = rng.normal(size=(2, 30, 30, 40))
    for document, size in enumerate((30, 12)):
        padded[document, size:] = 0
        for sentence in range(size):
            padded[document, sentence, rng.integers(1, 31) :] = 0
    return padded.reshape(2, 900, 40)
