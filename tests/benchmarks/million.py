"""A million documents, from files to predictions, by the commands that users type.

Writes invented abstracts in the format of BioASQ, with as many labels as in the paper. Then it
prepares them, trains an epoch, evaluates and predicts, each in a process of its own, and says what
each takes: seconds, memory over time, and disk. With ``--kill``, encoding and training are also
killed half-way and started again; shards and weights must be those of the unbroken run. ``--halt``
tries training in less time: half-way (or at ``--halt 0.8``) the fit is halted while its folder is
copied, as a kill would leave it, and training goes on from the copy too.

python tests/benchmarks/million.py --output DIR --documents 1000000 --test 50000
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import torch
from measuring import table, write

LABELS, OWN_WORDS, WORDS, LENGTH, PER_DOCUMENT = 26_104, 12, 500_000, 180, 12
TOGETHER = 5_000  # documents that are made at a time
TEST_YEAR = 2010  # that of the test documents; a tenth of the labels come there alone
PACE = 0.5  # seconds between two looks at the memory
BATCHES = re.compile(r"training: ([\d,]+) of ([\d,]+) batches")
LEFT = re.compile(r"(?:(\d+) h )?(?:(\d+) min|(\d+) s) left")


def write_corpus(folder: Path, documents: int, test: int) -> None:
    """Write descriptors and abstracts, and the texts of the test documents as lines of JSON."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    words = np.array([_word(i) for i in range(WORDS)], dtype=object)
    own = rng.integers(WORDS, size=(LABELS, OWN_WORDS))  # what texts about a label say
    with open(folder / "d2016_invented.bin", "w", encoding="ascii") as out:
        for i, row in enumerate(own):
            note = " ".join(words[row])
            out.write(f"*NEWRECORD\nMH = {_name(i)}\nMN = A{i // 999:02d}.{i % 999:03d}\n")
            out.write(f"MS = {note}\nUI = D{i:06d}\n\n")
    with (
        open(folder / "allMeSH_invented.json", "w", encoding="ascii") as out,
        open(folder.parent / "texts.jsonl", "w", encoding="ascii") as texts,
    ):
        out.write('{"articles":[\n')
        for start in range(0, documents, TOGETHER):
            for i, (text, labels) in enumerate(_abstracts(start, documents, test, own, words)):
                number = start + i
                last = number >= documents - test
                article = {
                    "pmid": str(number),
                    "year": str(TEST_YEAR if last else TEST_YEAR - 10),
                    "title": text[: text.index(".")],
                    "abstractText": text,
                    "journal": "none",
                    "meshMajor": [_name(label) for label in labels],
                }
                end = ",\n" if number < documents - 1 else "\n"
                out.write(json.dumps(article) + end)
                if last:
                    texts.write(json.dumps({"id": number, "text": text}) + "\n")
        out.write("]}\n")


def _abstracts(
    start: int, documents: int, test: int, own: np.ndarray, words: np.ndarray
) -> Iterator[tuple[str, list[int]]]:
    """Draw labels and words by Zipf's law; a third of the words are those of the labels."""
    rng = np.random.default_rng([1, start])
    count = min(TOGETHER, documents - start)
    known = LABELS * 9 // 10
    labels = _zipf(rng, (count, PER_DOCUMENT), known)
    new = np.arange(start, start + count) >= documents - test
    labels[new, :2] = known + _zipf(rng, (int(new.sum()), 2), LABELS - known)
    ids = _zipf(rng, (count, LENGTH), WORDS)
    about = rng.random(ids.shape) < 1 / 3
    drawn = labels[np.arange(count)[:, None], rng.integers(PER_DOCUMENT, size=ids.shape)]
    ids[about] = own[drawn, rng.integers(OWN_WORDS, size=ids.shape)][about]
    for row, found in zip(words[ids], labels.tolist(), strict=True):
        sentences = (" ".join(row[i : i + 18]) for i in range(0, LENGTH, 18))
        yield ". ".join(sentences) + ".", list(dict.fromkeys(found))


def _zipf(rng: np.random.Generator, shape: tuple[int, ...], size: int) -> np.ndarray:
    """Draw numbers below ``size``, of which number i comes with a probability as 1 / (i + 1)."""
    return (np.exp(rng.random(shape) * np.log(size + 1)) - 1).astype(np.int64).clip(0, size - 1)


def _word(number: int) -> str:
    letters = ""
    while number or not letters:
        number, letter = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[letter] + "aeiou"[letter % 5]
    return letters


def _name(label: int) -> str:
    return f"{_word(label).capitalize()} {_word(label * 7 + 3)}"


def run(
    name: str,
    command: Sequence[object],
    output: Path,
    kill: float | None = None,
    copy: tuple[Path, Path, float] | None = None,
) -> Any:
    """Run a command of the package; follow its memory, and what it says of the time left.

    Args:
        name: of the stage; the log is ``NAME.log`` with a time before each line.
        command: its arguments, without ``python -m``.
        output: where logs and curves go.
        kill: seconds after which it is killed.
        copy: a folder that is copied to another when a share of the training batches is done; the
            command is halted meanwhile.
    """
    print(f"{time.strftime('%X')} {name}", file=sys.stderr, flush=True)
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said: list[tuple[float, str]] = []

    def listen() -> None:
        assert process.stdout is not None
        with open(output / f"{name}.log", "w", encoding="utf-8") as log:
            for line in process.stdout:
                said.append((time.perf_counter() - start, line))
                log.write(f"{said[-1][0]:8.1f} {line}")
                log.flush()

    listener = Thread(target=listen)
    listener.start()
    curve = []
    while process.poll() is None:
        now = time.perf_counter() - start
        own, files = _memory(process.pid)
        if own:  # 0 as it ends
            curve.append((now, own, files))
        if kill is not None and now > kill:
            os.killpg(process.pid, signal.SIGKILL)
        if copy is not None and progress(said) >= copy[2]:
            os.killpg(process.pid, signal.SIGSTOP)
            shutil.copytree(*copy[:2])
            os.killpg(process.pid, signal.SIGCONT)
            copy = None
        time.sleep(PACE)
    listener.join()
    assert process.stdout is not None
    process.stdout.close()
    seconds = time.perf_counter() - start
    if process.returncode != (0 if kill is None else -signal.SIGKILL):
        sys.exit(
            f"{name} ended with status {process.returncode}: {''.join(x for _, x in said[-5:])}"
        )
    lines = [f"{t:.1f}\t{own:.0f}\t{files:.0f}" for t, own, files in curve]
    (output / f"{name}.tsv").write_text("seconds\tMiB\tMiB of mapped files\n" + "\n".join(lines))
    half = [own for t, own, _ in curve if t >= curve[-1][0] / 2] or [0]
    return {
        "stage": name,
        "seconds": seconds,
        "peak MiB": max((own for _, own, _ in curve), default=0),
        "second half, lowest and highest MiB": f"{min(half):.0f} to {max(half):.0f}",
        "time left after a minute": estimate(said),
    }


def _memory(root: int) -> tuple[float, float]:
    """Return MiB of a process and all below it: its own, and those of mapped files."""
    parents: dict[int, int] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "status").read_text()
        except OSError:
            continue
        found = dict(re.findall(r"^(PPid|RssAnon|RssFile):\s*(\d+)", status, re.M))
        parents[int(folder.name)] = int(found["PPid"])
        sizes[int(folder.name)] = int(found.get("RssAnon", 0)), int(found.get("RssFile", 0))
    family, size = {root}, 0
    while len(family) > size:
        size = len(family)
        family |= {process for process, parent in parents.items() if parent in family}
    of_family = [sizes[process] for process in family if process in sizes]
    return sum(own for own, _ in of_family) / 1024, sum(files for _, files in of_family) / 1024


def estimate(said: Sequence[tuple[float, str]]) -> str:
    """Compare the first time left that a step tells after a minute with what it took."""
    steps: dict[str, list[tuple[float, float]]] = {}
    for at, line in said:
        if found := LEFT.search(line):
            hours, minutes, seconds = (int(part or 0) for part in found.groups())
            left = hours * 3600 + minutes * 60 + seconds
            steps.setdefault(line.partition(":")[0].strip(), []).append((at, left))
    told = [(name, rows[0], rows[-1]) for name, rows in steps.items() if len(rows) > 1]
    return "; ".join(
        f"{name}: {left:.0f} s, was {last + rest - at:.0f} s"
        for name, (at, left), (last, rest) in told
    )


def progress(said: Sequence[tuple[float, str]]) -> float:
    """Return the share of the training batches that the last line that tells it says."""
    for _, line in reversed(said):
        if found := BATCHES.search(line):
            done, total = (int(part.replace(",", "")) for part in found.groups())
            return done / total
    return 0.0


def digest(folder: Path, pattern: str) -> str:
    """Return a hash of all files of a pattern, in the order of their names."""
    whole = hashlib.sha256()
    for path in sorted(folder.rglob(pattern)):
        with open(path, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:16]


def weights(run_folder: Path) -> str:
    """Return a hash of the last checkpoint's weights."""
    state = torch.load(run_folder / "checkpoints/last.ckpt", weights_only=True)["state_dict"]
    whole = hashlib.sha256()
    for name in sorted(state):
        whole.update(state[name].contiguous().view(-1).view(torch.uint8).numpy())
    return whole.hexdigest()[:16]


def _size(folder: Path) -> float:
    """Return the GB that a folder takes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--output", type=Path, required=True, help="a folder; another --config reuses its corpus")
    add("--documents", type=int, default=1_000_000, help="1,000,000 by default: an hour or more")
    add("--test", type=int, default=50_000, help="how many of these test")
    add("--train", type=int, help="how many of the others train; all by default")
    add("--every", type=int, default=1_000, help="steps between checkpoints")
    add("--config", nargs="+", default=["bioasq", "fast"], help="names in sweeps/")
    add = parser.add_mutually_exclusive_group().add_argument
    add("--kill", action="store_true", help="kill encoding and training half-way, and compare")
    copied = "copy the fit's folder at this share of its batches (0.5), go on, and compare"
    add("--halt", type=float, nargs="?", const=0.5, help=copied)
    given = parser.parse_args()
    output, corpus = given.output, given.output / "corpus"
    output.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    if not corpus.exists():
        write_corpus(output / "part", given.documents, given.test)
        (output / "part").rename(corpus)
        print(f"written in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    name = "-".join(given.config)
    caches = output / f"cache-{name}", output / "cache-killed"
    configs = [part for name in given.config for part in ("--config", f"sweeps/{name}.yaml")]
    data = ("--data.path", corpus, "--data.split_year", TEST_YEAR)
    validation = min(10_000, given.documents // 20)
    data += ("--data.validation_size", validation)
    fit = ("gile_lightning.fit", *configs, *data, "--trainer.max_epochs", 1, "--test", "false")
    fit += ("--checkpoint_every", given.every, "--data.cache_dir", caches[0])
    if given.train:
        fit += ("--data.train_share", given.train)
    whole = output / f"run-{name}"
    shutil.rmtree(whole, ignore_errors=True)
    rows = []

    def stage(title: str, documents: int, *command: object, copy: Any = None) -> dict[str, Any]:
        row = run(title, command, output, copy=copy)
        row["documents/s"] = documents / row["seconds"]
        rows.append(row)
        return row

    def prepare(cache: Path) -> tuple[object, ...]:
        return ("gile_lightning.prepare", *configs, *data, "--data.cache_dir", cache)

    if not caches[0].exists():
        prepared = stage("prepare", given.documents, *prepare(caches[0]))
        prepared["GB of disk"] = _size(caches[0])
        if given.kill:
            run("prepare-killed", prepare(caches[1]), output, kill=prepared["seconds"] / 2)
            run("prepare-again", prepare(caches[1]), output)
            same = [digest(cache, "*.arrow") for cache in caches]
            print(f"shards: {same[0]} unbroken, {same[1]} killed and prepared again")
            assert same[0] == same[1]
            shutil.rmtree(caches[1])
    training = given.train or given.documents - given.test - validation
    again = output / f"run-{name}-killed"
    shutil.rmtree(again, ignore_errors=True)
    copy = (whole, again, given.halt) if given.halt else None
    trained = stage(f"fit-{name}", training, *fit, "--output", whole, copy=copy)
    trained["GB of disk"] = _size(whole)
    if given.kill:
        run(f"fit-{name}-killed", (*fit, "--output", again), output, kill=trained["seconds"] / 2)
    if given.kill or given.halt:
        run(f"fit-{name}-again", (*fit, "--output", again, "--ckpt_path", "last"), output)
        same = [weights(folder) for folder in (whole, again)]
        print(f"weights: {same[0]} unbroken, {same[1]} killed and gone on with")
        assert same[0] == same[1]
    trained_model = ("--checkpoint", whole)
    stage(f"evaluate-{name}", given.test, "gile_lightning.evaluate", *trained_model)
    predictions = output / f"predictions-{name}.jsonl"
    predict = ("gile_lightning.predict", *trained_model, "--input", output / "texts.jsonl")
    stage(f"predict-{name}", given.test, *predict, "--output", predictions)
    print(table(rows))
    write({"documents": given.documents, "rows": rows}, output / f"rows-{name}.json")


if __name__ == "__main__":
    main()
