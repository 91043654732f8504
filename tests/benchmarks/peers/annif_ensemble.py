"""Annif: MLLM, Omikuji Bonsai, and an ensemble of both whose weights are tuned.

Projects as in its tutorial; the weights are tuned on validation documents by `annif hyperopt`. The
English analyzer wants NLTK's ``punkt_tab``; where that cannot be fetched, a Punkt model is trained
on the training texts. MLLM knows names and synonyms of all labels, the unseen ones too. At last a
label is added, and a text with its name is labelled before training again and after.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from peer import FROM_TEXT, RETRAINED, Corpus, Documents, Measured, main

URI = "http://example.org/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
PROJECTS = """
[mllm]
name=MLLM
language=en
backend=mllm
analyzer=snowball(english)
vocab=labels
limit={limit}

[bonsai]
name=Omikuji Bonsai
language=en
backend=omikuji
analyzer=snowball(english)
vocab=labels
limit={limit}
cluster_balanced=False
cluster_k=100
max_depth=3

[ensemble]
name=Ensemble
language=en
backend=ensemble
vocab=labels
limit={limit}
sources={sources}
"""
TRIALS = 50
NEW = "Quillon bramblefever"  # the name of a label that is added


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train, tune and score."""
    os.environ["NLTK_DATA"] = str(own / "nltk")
    _punkt(corpus.train.texts, own / "nltk")
    _vocabulary(corpus, own / "labels.ttl")
    for name, documents in (("train", corpus.train), ("validation", corpus.validation)):
        _documents(documents, own / name)

    def annif(*args: str, text: str | None = None) -> str:
        command = [str(Path(sys.executable).with_name("annif")), *args]
        options: dict[str, Any] = {"text": True, "capture_output": True, "check": False}
        done = subprocess.run(command, cwd=own, input=text, **options)
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        return done.stdout

    def projects(sources: str) -> None:
        text = PROJECTS.format(limit=len(corpus.names), sources=sources)
        (own / "projects.cfg").write_text(text, encoding="utf-8")

    projects("mllm,bonsai")
    annif("load-vocab", "labels", "labels.ttl")
    for name in ("mllm", "bonsai"):
        with measured.stage(f"train {name}"):
            annif("train", name, "train")
    with measured.stage("train ensemble"):
        told = annif("hyperopt", "--trials", str(TRIALS), "ensemble", "validation")
    tuned = re.search(r"sources=(\S+)", told)
    assert tuned, told
    projects(tuned[1])
    measured.seconds["train ensemble"] += sum(
        measured.seconds[f"train {x}"] for x in ("mllm", "bonsai")
    )
    scores = _scores(corpus, measured, own)
    return {
        "scores": scores,
        "stages": {
            f"annif_{name}": (f"train {name}", f"score {name}")
            for name in ("mllm", "bonsai", "ensemble")
        },
        "new_label": _new_label(annif, own / "labels.ttl", len(corpus.names)),
    }


def _new_label(annif: Callable[..., str], vocabulary: Path, number: int) -> dict[str, str]:
    """Return how each project takes a label that is added, before it is trained again and after.

    The text that it labels has the label's name, word for word.
    """
    with open(vocabulary, "a", encoding="utf-8") as out:
        out.write("\n".join(_concept(number, NEW, [])) + "\n")
    annif("load-vocab", "labels", vocabulary.name)

    def found(project: str) -> bool:
        return f"<{URI}{number}>" in annif("suggest", project, text=f"This is about {NEW}.")

    names = ("mllm", "bonsai", "ensemble")
    before = {name: found(name) for name in names}
    for name in ("mllm", "bonsai"):
        annif("train", name, "train")
    after = {name: found(name) for name in names}
    told = {(True, True): FROM_TEXT, (False, True): "found by its name once trained again"}
    return {f"annif_{x}": told.get((before[x], after[x]), RETRAINED) for x in names}


def _scores(corpus: Corpus, measured: Measured, own: Path) -> dict[str, np.ndarray]:
    os.chdir(own)
    import annif
    import annif.registry
    from annif.corpus import Document

    found = {}
    application = annif.create_flask_app(config_name="annif.default_config.Config")
    with application.app_context():
        for name in ("mllm", "bonsai", "ensemble"):
            project = annif.registry.get_project(name)
            project.initialize()
            scores = np.zeros((len(corpus.test.texts), len(corpus.names)), dtype=np.float32)
            columns = [_number(uri) for uri in _uris(project)]
            with measured.stage(f"score {name}"):
                for start in range(0, len(scores), 32):
                    texts = corpus.test.texts[start : start + 32]
                    batch = project.suggest([Document(text=text) for text in texts])
                    for row, suggestions in enumerate(batch, start):
                        for each in suggestions:
                            scores[row, columns[each.subject_id]] = each.score
            if name == "bonsai":
                scores[:, corpus.seen :] = np.nan  # it has no score of a label without documents
            found[f"annif_{name}"] = scores
    return found


def _uris(project: Any) -> list[str]:
    return [project.subjects[i].uri for i in range(len(project.subjects))]


def _number(uri: str) -> int:
    return int(uri.removeprefix(URI))


def _vocabulary(corpus: Corpus, path: Path) -> None:
    lines = []
    for i, (name, synonyms) in enumerate(zip(corpus.names, corpus.synonyms, strict=True)):
        lines += _concept(i, name, synonyms)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _concept(number: int, name: str, synonyms: list[str]) -> list[str]:
    concept = f"<{URI}{number}>"
    return [
        f"{concept} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SKOS}Concept> .",
        f"{concept} <{SKOS}prefLabel> {_literal(name)} .",
        *(f"{concept} <{SKOS}altLabel> {_literal(x)} ." for x in synonyms if x != name),
    ]


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"@en'


def _documents(documents: Documents, folder: Path) -> None:
    """Write a text file per document, with a file of its labels' URIs beside it."""
    folder.mkdir(exist_ok=True)
    for i, (text, labels) in enumerate(zip(*documents, strict=True)):
        (folder / f"{i:06}.txt").write_text(text, encoding="utf-8")
        lines = "".join(f"<{URI}{label}>\t{label}\n" for label in labels)
        (folder / f"{i:06}.tsv").write_text(lines, encoding="utf-8")


def _punkt(texts: list[str], folder: Path) -> None:
    """Train a model of sentences where NLTK looks for its own."""
    from nltk.tokenize.punkt import PunktTrainer, save_punkt_params

    trainer = PunktTrainer()
    trainer.train("\n".join(texts), finalize=True, verbose=False)
    target = folder / "tokenizers/punkt_tab/english"
    target.mkdir(parents=True, exist_ok=True)
    save_punkt_params(trainer.get_params(), str(target))


if __name__ == "__main__":
    main("annif", run)
