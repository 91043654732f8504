"""A corpus of many scripts through all commands: fitted, scored, labelled and explained."""

import csv
import json
import re
import unicodedata
from html.parser import HTMLParser

import pytest

import gile_lightning
from gile_lightning import fit, predict, prepare
from gile_lightning.common.grid import columns
from gile_testing import runs

# a label, its synonym, and a text with its name; the text is written in the other normal form
LABELS = {
    "crème brûlée": ("café", "Ils mangent de la crème brûlée ici."),
    "קפה שחור": ("תה", "הוא שתה קפה שחור בבית."),
    "شاي أخضر": ("ماء", "نشرب شاي أخضر كل يوم."),
    "हिन्दी भाषा": ("உரை", "मैं हिन्दी भाषा, पढ़ता हूँ।"),
    "می‌روم": ("خانه", "من می‌روم \u200fاکنون."),
    "细胞": ("東京", "我 研究 细胞 。"),
    "ภาษาไทย": ("ที่นี่", "ฉัน\u200bพูด\u200bภาษาไทย\u200bได้"),
    "ДНК-тест": ("ген", "Сделали ДНК\u2011тест вчера."),
    "İzmir": ("한국어", "Yarın İzmir yolu açık."),
    "👩\u200d🚀": ("rocket", "We saw 👩\u200d🚀 today ❤\ufe0f."),
    "٤٢": ("forty-two", "The answer is ٤٢, twice: 42."),
}


def other_form(text):
    form = "NFD" if unicodedata.is_normalized("NFC", text) else "NFC"
    return unicodedata.normalize(form, text)


def same(text):
    return unicodedata.normalize("NFC", text)


def written(path, records):
    path.write_text("".join(json.dumps(x, ensure_ascii=False) + "\n" for x in records), "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Labels in a table with a byte order mark, in one normal form; documents in the other."""
    folder = tmp_path_factory.mktemp("languages")
    with (folder / "labels.csv").open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["name", "description", "synonyms"])
        for name, (synonym, _) in LABELS.items():
            table.writerow([other_form(name), f"{name} {synonym}", synonym])
    split = ["train"] * 4 + ["validation", "test"]
    documents = [
        {"id": f"{name} {i}", "text": text, "labels": [name], "split": split[i]}
        for name, (_, text) in LABELS.items()
        for i in range(6)
    ]
    documents[0]["text"] += " Wörter über 😀 " * 40_000  # a megabyte
    documents[1]["text"] = "brûlée"
    for document in documents[::2]:
        document["text"] = other_form(document["text"])
    written(folder / "texts.jsonl", documents)
    (folder / "mine.yaml").write_text(
        "base: best_scratch.yaml\n"
        "data:\n  class_path: gile_lightning.data.Corpus\n  init_args:\n    split_year: null\n"
        "    columns: {id: id, text: text, labels: labels, split: split}\n"
    )
    return folder


@pytest.fixture(scope="module")
def run(folder):
    kinds = ("LexicalMatch", "NameMention")
    matchers = [{"class_path": f"gile_lightning.network.matchers.{kind}"} for kind in kinds]
    sizes = {
        "embedding.dim": 8,
        "output.joint_dim": 4,
        "ridge.word_features": 16,
        "ridge.ngram_features": 16,
    }
    keys = {
        "data.path": folder / "texts.jsonl",
        "data.labels": folder / "labels.csv",
        "data.cache_dir": folder / "cache",
        "trainer.max_epochs": 1,
        **{f"model.{key}": value for key, value in sizes.items()},
        "model.matchers": json.dumps(matchers),
    }
    output = folder / "run"
    done = runs.call(fit.main, *runs.small(folder / "mine.yaml", output, keys, ()))
    assert done.status is None, done.errors
    assert "left out" not in done.printed + done.errors
    return output


def test_names_of_both_forms_are_one_label(run):
    labels = gile_lightning.load(run).task.labels
    assert set(labels.names) == {same(name) for name in LABELS}
    assert set(labels.frequencies) == {4}


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_are_found_in_texts(run, form):
    """By both matchers, whatever the normal form, and where they are written."""
    model = gile_lightning.load(run)
    for name, (_, text) in LABELS.items():
        text = unicodedata.normalize(form, text)
        found = model.explain(text, [unicodedata.normalize(form, name)], top_k=0)
        (label,) = found.labels
        assert label.contributions["names"] > 0.5, name
        assert label.contributions["words"] > 0, name
        words = found.text.words
        assert "".join(word.before + word.text for word in words) == text
        phrase = label.phrases[0]
        place = " ".join(word.text for word in words[phrase.first : phrase.last + 1])
        wanted = name.split()[0].replace("-", "\u2011")
        assert unicodedata.normalize(form, wanted) in place
        marked = {i for i, value in enumerate(label.by_word) if value}
        assert {phrase.first, phrase.last} <= marked


class Page(HTMLParser):
    """Collects the texts of documents and their directions of writing."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.directions, self.inside = [], [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "p" and given.get("class") == "text":
            self.directions.append(given.get("dir"))
            self.texts.append("")
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.texts and self.inside != "small":
            self.texts[-1] += data


def test_pages_and_terminal(run, folder):
    """Right-to-left texts have their own direction, and no mark of direction leaves its line."""
    lines = [{"id": name, "text": text} for name, (_, text) in LABELS.items()]
    source, page = written(folder / "in.jsonl", lines), folder / "page.html"
    given = ("--checkpoint", run, "--input", source, "--output", folder / "out.jsonl")
    done = runs.call(predict.main, *given, "--explain", page, "--top_k", 3)
    assert done.status is None, done.errors
    shown = Page(page.read_text("utf-8"))
    assert set(shown.directions) == {"auto"}
    texts = {" ".join(text.split()) for text in shown.texts}
    for name, (_, text) in LABELS.items():
        assert any(" ".join(text.split()) in shown for shown in texts), name
    done = runs.call(predict.main, *given, "--explain", "-", "--top_k", 3)
    assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069\x1b]", done.printed)
    assert "שחור" in done.printed


def test_texts_that_are_hardly_texts(run, folder):
    """Empty, one word, invisible, half a character, a megabyte: each line has its answer."""
    texts = ["", " \n", "\u200b\ufeff", "xyz", "İzmir", "\ud83d cut", "\x00", "细胞" * 200_000]
    texts += ["crème brûlée " * 80_000, "\u202eevil"]
    source = folder / "odd.jsonl"
    lines = [json.dumps({"id": f"{i}\ud83d", "text": text}) for i, text in enumerate(texts)]
    source.write_text("\n".join(lines), "utf-8")
    target = folder / "odd.out"
    given = ("--checkpoint", run, "--input", source, "--output", target, "--top_k", 2)
    done = runs.call(predict.main, *given, "--explain", folder / "odd.html")
    assert done.status is None, done.errors
    found = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert [line["id"] for line in found] == [f"{i}?" for i in range(len(texts))]
    assert [len(line["labels"]) for line in found] == [0, 0, 0] + [2] * 7
    assert found[4]["labels"][0]["name"] == "İzmir"
    assert found[8]["labels"][0]["name"] == "crème brûlée"


def test_texts_without_spaces_are_noticed(folder, run):
    lines = (folder / "texts.jsonl").read_text("utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    for number, document in enumerate(documents):
        document["text"] = f"细胞在低温条件下生长得非常缓慢{number % 3}，温度升高以后它们会迅速分裂"
    path = written(folder / "unspaced.jsonl", documents)
    options = ("--config", folder / "mine.yaml", "--data.path", path, "--data.labels")
    done = runs.call(
        prepare.main, *options, folder / "labels.csv", "--data.cache_dir", folder / "cache"
    )
    assert done.status is None, done.errors
    assert "warning: 97% of the texts are runs without spaces, such as" in done.printed


def test_another_language_than_the_one_that_is_said_is_noticed(folder):
    lines = (folder / "texts.jsonl").read_text("utf-8").splitlines()
    documents = [json.loads(line) for line in lines]
    for document in documents:
        document["text"] = f"Il bando è per la scuola e per i bambini della {document['id']} valle"
    path = written(folder / "italian.jsonl", documents)
    options = ("--config", folder / "mine.yaml", "--data.path", path, "--data.labels")
    given = (*options, folder / "labels.csv", "--data.cache_dir", folder / "cache")
    said = "is said to be English, but words of Italian are frequent"
    for more, noticed in (((), True), ((), True), (("--data.language", "italian"), False)):
        done = runs.call(prepare.main, *given, *more)
        assert done.status is None, done.errors
        assert (said in done.printed) is noticed  # of a cached corpus too
    checked = runs.call(prepare.main, *given, "--check")
    assert said in checked.printed
    advice = checked.result["recommended"]
    assert advice[0] == {
        "set": "--data.language italian",
        "why": "what the most frequent words tell",
    }
    assert any("--config best --data.pretrained paraphrase" in each["set"] for each in advice)


def test_columns_of_a_terminal():
    assert [columns(name) for name in LABELS] == [12, 8, 8, 10, 5, 4, 7, 8, 5, 4, 2]
    for name in LABELS:
        assert columns(other_form(name)) == columns(name)
