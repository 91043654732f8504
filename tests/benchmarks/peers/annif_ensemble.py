"""Annif: MLLM, Omikuji Bonsai, and an ensemble of both whose weights are tuned.

Projects as in its tutorial; the weights are tuned on validation documents by `annif hyperopt`. The
English analyzer wants NLTK's ``punkt_tab``; where that cannot be fetched, a Punkt model is trained
on the training texts. MLLM knows names and synonyms of all labels, the unseen ones too.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from peer import Corpus, Documents, Measured, main

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


def run(corpus: Corpus, measured: Measured, own: Path) -> dict[str, Any]:
    """Train, tune and score."""
    os.environ["NLTK_DATA"] = str(own / "nltk")
    _punkt(corpus.train.texts, own / "nltk")
    _vocabulary(corpus, own / "labels.ttl")
    for name, documents in (("train", corpus.train), ("validation", corpus.validation)):
        _documents(documents, own / name)

    def annif(*args: str) -> str:
        command = [str(Path(sys.executable).with_name("annif")), *args]
        done = subprocess.run(command, cwd=own, text=True, capture_output=True, check=False)
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
        "new_label": "load the vocabulary and train again",
    }


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
        concept = f"<{URI}{i}>"
        lines.append(
            f"{concept} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SKOS}Concept> ."
        )
        lines.append(f"{concept} <{SKOS}prefLabel> {_literal(name)} .")
        lines += [f"{concept} <{SKOS}altLabel> {_literal(x)} ." for x in synonyms if x != name]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
