"""Small files of the authors' formats and news to go with them; and the scores that they give."""

import json

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from gile_testing import released_oracle as oracle
from gile_testing import runs

LANGUAGES = ("english", "german")
WORDS = {
    "english": "sport politics culture world europe team game goal vote party law film music song",
    "german": "sport politik kultur welt europa spiel tor wahl partei gesetz film musik lied ball",
}
LABELS = {  # not in the order of their frequency
    "english": ["sport", "world politics", "culture", "europe vote", "law", "film"],
    "german": ["kultur", "sport", "politik europa", "film musik", "welt"],
}
CUT = np.log(0.4 / 0.6)  # the logit of the threshold for fewer than 400 labels
SIZES = {"train": 40, "dev": 10, "test": 12}


# --- what there is to begin with ---


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def news(language):
    """Draw articles as sentences of known words, with the numbers of their labels."""
    draw = np.random.default_rng(LANGUAGES.index(language))
    words = WORDS[language].split()
    found = {}
    for split, size in SIZES.items():
        found[split] = [
            (
                [draw.choice(words, draw.integers(1, 9)).tolist() for _ in range(length)],
                sorted({int(label) for label in draw.integers(len(LABELS[language]), size=2)}),
            )
            for length in draw.integers(2, 6, size)
        ]
    found["test"][0][0][:] = [words[:3]] * 33  # more sentences than are kept
    found["test"][1][0][1] = words * 3  # more words than are kept
    return found


def article(identity, sentences, labels):
    """Write an article out, with words that the vectors lack."""
    title, *rest = [" ".join(words).capitalize() for words in sentences]
    text = " ".join(f"{sentence} xylophones." for sentence in rest)
    return {"id": identity, "title": f"Quux: {title}", "text": text, "labels": labels}


def write_files(folder):
    """Write word vectors, raw articles and labels in both formats."""
    draw = np.random.default_rng(5)
    (folder / "vectors").mkdir()
    for language, words in WORDS.items():
        lines = [f"{w} {' '.join(map(str, draw.normal(size=40)))}\n" for w in words.split()]
        (folder / f"vectors/{language}.txt").write_text("".join(lines))
        names = LABELS[language]
        for split, articles in news(language).items():
            rows = [
                article(f"{split}-{number}", sentences, [names[label] for label in labels])
                for number, (sentences, labels) in enumerate(articles)
            ]
            write_lines(folder / f"raw/{language}/{split}.jsonl", rows)
        write_lines(folder / f"labels/{language}.jsonl", [{"name": name} for name in names])
        described = [{"name": name.title(), "description": name} for name in names]
        write_lines(folder / f"described-{language}.jsonl", described)
        ids = ["_".join(str(words.split().index(w)) for w in name.split()) for name in names]
        released = {"X_ids": [], "Y_ids": [], "label_ids": ids}
        write_lines(folder / f"train/{language}.json", [released])


def write_weights(folder, family, languages, counts=None):
    """Write weights and args.json as the authors do; return the names' tables and the weights."""
    share, encoder, output = family
    counts = counts or [len(LABELS[language]) for language in LANGUAGES[:languages]]
    tables = oracle.names(family, languages)
    weights = oracle.draw(tables, counts, seed=2)
    oracle.write(folder / "weights.h5", oracle.tensors(weights, output == "linear 1"))
    arguments = {"share": share, "enc": encoder, "la": output == "gile", "gruact": "tanh"}
    arguments |= {"languages": LANGUAGES[:languages]}
    (folder / "args.json").write_text(json.dumps(arguments))
    return tables, weights


# --- what is to be computed ---


def vectors_of(files, language):
    lines = (files / f"vectors/{language}.txt").read_text().splitlines()
    return {word: np.array(values, "f4") for word, *values in map(str.split, lines)}


def padded(documents, table):
    """Lay documents out as 30 sentences of 30 word vectors: [B, 900, 40]."""
    x = np.zeros((len(documents), 30, 30, 40), "f4")
    for document, sentences in enumerate(documents):
        for number, words in enumerate(sentences[:30]):
            for place, word in enumerate(words[:30]):
                x[document, number, place] = table[word]
    return x.reshape(len(documents), 900, 40)


def label_vectors(language, table):
    return np.stack([np.mean([table[w] for w in n.split()], axis=0) for n in LABELS[language]])


def logits_and_targets(files, language, number, made):
    """Return logits and targets of a language's test articles, after the equations in NumPy."""
    tables, weights = made
    table = vectors_of(files, language)
    articles = news(language)["test"]
    x = padded([sentences for sentences, _ in articles], table)
    *_, logits = oracle.run(x, label_vectors(language, table), tables[number], weights)
    return logits, runs.positives([labels for _, labels in articles], range(len(LABELS[language])))


def expected_scores(files, language, number, made):
    logits, targets = logits_and_targets(files, language, number, made)
    predicted = logits > CUT
    micro = precision_recall_fscore_support(targets, predicted, average="micro")
    named = dict(zip(("precision", "recall", "f1"), micro[:3], strict=True))
    named |= {"documents": len(targets), "labels": targets.shape[1], "threshold": 0.4}
    ranking = runs.ranking_scores(logits, targets)
    return {f"test.micro.{key}": value for key, value in named.items()} | {
        f"test.seen.{key}": value for key, value in ranking.items()
    }
