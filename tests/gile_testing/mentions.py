"""A few documents and labels that the tests of matchers share."""

import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.tokenizing.words import tokenize

DOCUMENTS = [  # sentences each; the first is the title
    ["Acute abdomen", "The acute abdomen of mice and rats. An abdomen, and livers."],
    ["Liver disease", "Liver diseases of the rat; liver, liver. Xylophone."],
    [],
    ["Xylophone", "The rats rat on"],
    ["Mice", "acute", "abdomen and the liver"],  # not across sentences
]
LABELS = {  # text and synonyms
    "Abdomen": ("The belly of mice.", []),
    "Acute abdomen": ("A sudden pain of the abdomen.", ["sudden abdomen"]),
    "Liver": ("Liver. An organ that rats and mice have.", ["hepar", "rat liver"]),
    "Rats": ("Rats, and the rat.", ["rat"]),
    "Nothing": ("", []),
    "Muridae": ("mice and rats", ["mice", "rat", "xylophone and rat"]),
    "Disease of the liver": ("xylophone", ["liver disease"]),
}
PARENTS = {  # of labels that have any; Organs and Mammals are none of the labels
    "Abdomen": ["Organs"],
    "Acute abdomen": ["Abdomen"],
    "Liver": ["Organs"],
    "Rats": ["Muridae"],
    "Muridae": ["Mammals"],
}


def label_set(names=tuple(LABELS)):
    texts, synonyms = zip(*(LABELS[name] for name in names), strict=True) if names else ((), ())
    return LabelSet(
        list(names),
        list(texts),
        [1] * len(names),
        synonyms=list(synonyms),
        parents=[PARENTS.get(name, []) for name in names],
    )


def encoder(**options):
    """Know the words of all texts but one."""
    pieces = [piece for document in DOCUMENTS for piece in document]
    pieces += [piece for name, (text, more) in LABELS.items() for piece in (name, text, *more)]
    words = dict.fromkeys(word for piece in pieces for word in tokenize(piece))
    words.pop("xylophone")
    return Tokenizer([*words, "UNK"], **options)


TEXT = encoder()


def encoded(documents=DOCUMENTS):
    return Texts.from_flat(*TEXT.documents(documents))


def made(make, documents=DOCUMENTS):
    """Make a matcher, and let it count the words of documents."""
    matcher = make(TEXT)
    counts = document_frequencies([encoded(documents)], len(TEXT.vocabulary))
    matcher.count_words(*counts)
    return matcher


def scores(matcher, documents=DOCUMENTS, labels=None, ids=None):
    """Score documents against some labels of a set: [B, K]."""
    labels = label_set() if labels is None else labels
    prepared = matcher.prepare_labels(TEXT, labels, None)
    ids = torch.arange(len(labels)) if ids is None else torch.tensor(ids, dtype=torch.long)
    return matcher(encoded(documents), prepared.select(ids))
