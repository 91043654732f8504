import gzip
import json
import re
from collections import Counter, defaultdict

import pytest

from gile_lightning.builtin import ATTACK_BUNDLE
from gile_lightning.common.errors import InputError
from gile_lightning.data import ATTACK
from gile_lightning.data.formats.skipped import Skipped
from gile_testing.attack import bundle, made, related, technique, uses
from gile_testing.corpora import ready

OBJECTS = [
    made("malware", "1", name="Bad"),
    technique("T1", "Accounts"),
    technique("T1.001", "Local", description="Of [Net](u).(Citation: X)<br>Here"),
    technique("T2", "Older", revoked=True),
    technique("T3", "Newer", revoked=True),
    technique("T4", "Newest"),
    technique("T5", "Gone", x_mitre_deprecated=True),
    technique("T6", "Lost", revoked=True),
    technique("T7", "Round", revoked=True),
    technique("T8", "About", revoked=True),
    technique("T9", "Stays", description=""),
    related("subtechnique-of", "T1.001", "T1"),
    related("subtechnique-of", "T4", "T1", x_mitre_deprecated=True),
    related("revoked-by", "T2", "T3"),
    related("revoked-by", "T3", "T4"),
    related("revoked-by", "T7", "T8"),
    related("revoked-by", "T8", "T7"),
    related("mitigates", "T9", "T1", description="No sentence of the corpus."),
]


def read(*files):
    """Read bundles, which tell the texts of labels, documents and what is left out."""
    data = ATTACK(*files, label_text="name_description", label_parents=1)
    skipped = Skipped()
    texts = data.label_texts(skipped)
    return texts, list(data.documents(skipped)), {k: n for k, n in skipped.counts.items()}


@pytest.fixture
def read_one(write):
    return lambda *objects: read(str(write("attack.json", bundle(*OBJECTS, *objects))))


BOTH = uses(1, "T1", "Both.", 2020), uses(2, "T4", "Both.", 2021), uses(4, "T1", "New.", 2021)


def test_labels(read_one):
    texts, _, skipped = read_one(*BOTH)
    assert texts == {
        "Accounts": "Accounts About Accounts.",
        "Accounts: Local": "Accounts: Local Of Net. Here Accounts About Accounts.",
        "Newest": "Newest About Newest.",
    }
    left_out = {"revoked techniques": 5, "deprecated techniques": 1}
    assert skipped == left_out | {
        "labels without a description": 1,
        "sentences that came before, whose labels are kept": 1,
    }


def test_a_name_begins_with_that_of_the_technique_in_force_above(read_one):
    objects = (
        technique("T2.001", "Part"),  # of what was revoked
        technique("T4.001", "Own"),
        technique("T9.001", "Apart"),
        technique("T10", None),
        technique("T11", "  "),
    )
    above = [("T2.001", "T2"), ("T4.001", "T4.001"), ("T9.001", "T10")]
    links = [related("subtechnique-of", *pair) for pair in above]
    texts, _, skipped = read_one(*BOTH, *objects, *links)
    assert {"Newest: Part", "Own", "Apart"} <= texts.keys()
    assert skipped["techniques without a name"] == 2


@pytest.mark.parametrize("references", [None, 5, ["T9"], [{"source_name": "mitre-attack"}]])
def test_equal_names_without_an_attack_id(read_one, references):
    twin = technique("T99", "Accounts", external_references=references)
    texts, _, _ = read_one(*BOTH, uses(3, "T1", "Old."), twin)
    assert {"Accounts (T1)", "Accounts (attack-pattern--T99)"} <= texts.keys()


def test_a_repeated_sentence_without_a_time(read_one):
    _, documents, _ = read_one(*BOTH, uses(3, "T9", "Both.", created=None))
    assert documents[0].split == "train"
    assert documents[0].labels == ["Accounts", "Newest", "Stays"]


@pytest.mark.parametrize(
    ("target", "label"),
    [("T4", "Newest"), ("T3", "Newest"), ("T2", "Newest"), ("T1", "Accounts")],
)
def test_what_was_revoked_is_replaced(read_one, target, label):
    _, documents, _ = read_one(*BOTH, uses(3, target, "Alone."))
    assert [(d.pieces, d.labels, d.split) for d in documents] == [
        (["Both."], ["Accounts", "Newest"], "train"),  # of the earlier year
        (["New."], ["Accounts"], "test"),
        (["Alone."], [label], "train"),
    ]


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        *[
            (uses(3, x, "Alone."), "sentences on techniques that are left out or missing")
            for x in ("T5", "T6", "T7", "T8", "T99")
        ],
        (uses(3, "tool--1", "Alone."), "uses of something else than a technique"),
        (uses(3, "T1", None), "uses of a technique without a sentence"),
        (uses(3, "T1", "(Citation: X)"), "uses of a technique without a sentence"),
        (uses(3, "T1", "Alone.", revoked=True), "revoked or deprecated sentences"),
        (uses(3, "T1", "Alone.", x_mitre_deprecated=True), "revoked or deprecated sentences"),
        (uses(3, "T1", "Alone.", created=""), "documents without created"),
    ],
)
def test_left_out(read_one, left_out, reason):
    _, documents, skipped = read_one(*BOTH, left_out)
    assert [document.pieces for document in documents] == [["Both."], ["New."]]
    assert skipped[reason] == 1


def test_several_matrices(write, tmp_path):
    old = [{"source_name": "mitre-mobile-attack", "external_id": "T1660"}]
    files = {
        "enterprise-attack.json": [technique("T1566", "Phishing"), uses(1, "T1566", "By mail.")],
        "mobile-attack.json.gz": [
            technique("T1660", "Phishing", "mobile", external_references=old),
            technique("T1630", "Indicator Removal", "mobile"),
            technique("T1630.001", "Uninstall", "mobile"),
            related("subtechnique-of", "T1630.001", "T1630"),
            uses(2, "T1660", "By SMS.", 2020),
            uses(3, "T1630.001", "It is gone.", 2021),
        ],
        "ics-attack.json": [
            technique("T0836", "Modify Parameter", "ics"),
            made("x-mitre-asset", "1", name="Pump"),
            uses(4, "T0836", "It closes a valve."),
        ],
    }
    for name, objects in files.items():
        write(f"in/{name}", bundle(*objects))
    _, documents, skipped = read(str(tmp_path / "in"))
    assert {document.pieces[0]: document.labels for document in documents} == {
        "By mail.": ["Phishing (T1566)"],
        "By SMS.": ["Phishing (T1660)"],
        "It is gone.": ["Indicator Removal: Uninstall"],
        "It closes a valve.": ["Modify Parameter"],
    }
    assert not skipped


@pytest.mark.parametrize(
    ("objects", "error"),
    [
        ([made("tool", "1")], "no technique .attack-pattern. in force"),
        ([technique("T1", "Gone", revoked=True)], "no technique .attack-pattern. in force"),
        ([technique("T1", "A")], "no relationship 'uses' has a description"),
        ([technique("T1", "A"), uses(1, "T2", "B.")], "no relationship 'uses' has a description"),
        ([technique("T1", "A"), uses(1, "T1", "B.")], "no document from 2021 for the test split"),
    ],
)
def test_refused(write, objects, error):
    with pytest.raises(InputError, match=error) as refused:
        read(str(write("x.json", bundle(*objects))))
    assert str(refused.value).startswith(f"{write('x.json', bundle(*objects))}: ")


def oracle():
    """Read the bundle in the package by the rules, with loops alone: texts, labels, years."""
    with gzip.open(ATTACK_BUNDLE) as file:
        objects = json.load(file)["objects"]
    alive = {
        x["id"]
        for x in objects
        if x["type"] == "attack-pattern" and not x.get("revoked") and not x["x_mitre_deprecated"]
    }
    labels, years = defaultdict(set), defaultdict(list)
    for x in objects:
        if x.get("relationship_type") == "uses" and x["target_ref"] in alive:
            text = re.sub(r"\(Citation: .*?\)", "", x["description"])
            text = re.sub(r"\[([^]]*)\]\(https?:.*?\)", r"\1", text)
            text = re.sub(r"</?code>", "", text.replace("<br>", " "))
            text = " ".join(text.replace("&lt;", "<").replace("&gt;", ">").split())
            labels[text].add(x["target_ref"])
            years[text].append(int(x["created"][:4]))
    return alive, labels, years


def test_the_bundle_of_the_package(tmp_path):
    alive, labels, years = oracle()
    data = ready(ATTACK(label_text="name_description", cache_dir=tmp_path, validation_size=1e-9))
    found = data.meta["counts"]
    train = [text for text in labels if min(years[text]) < 2021]
    seen = set().union(*(labels[text] for text in train))
    test = [labels[text] for text in labels if min(years[text]) >= 2021]
    unseen = set().union(*test) - seen
    assert (len(train), len(test)) == (6_663, 4_261)
    assert (len(unseen), sum(not unseen.isdisjoint(x) for x in test)) == (94, 223)
    assert found["documents"]["test"] == len(test)
    assert found["documents"]["train"] + found["documents"].get("validation", 0) == len(train)
    texts, documents, skipped = read()
    assert len(texts) == len(alive) == 594
    assert {d.pieces[0]: len(set(d.labels)) for d in documents} == {
        text: len(x) for text, x in labels.items()
    }
    split = Counter(document.split for document in documents)
    assert split == {"train": len(train), "test": len(test)}
    assert skipped == {
        "revoked techniques": 132,
        "deprecated techniques": 12,
        "uses of something else than a technique": 872,
        "sentences that came before, whose labels are kept": 80,
    }


def test_the_licence_lies_beside_the_bundle():
    licence = (ATTACK_BUNDLE.parent / "LICENSE.txt").read_text(encoding="utf-8")
    assert "© 2025 The MITRE Corporation. This work is reproduced and distributed with" in licence
