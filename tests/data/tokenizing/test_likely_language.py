"""Which language texts are taken for."""

from collections import Counter

import pytest

from gile_lightning.data.tokenizing.likely_language import (
    ENOUGH,
    FREQUENT,
    likely_language,
    warning,
)
from gile_lightning.data.tokenizing.words import tokenize

TEXTS = {
    "english": "The council has bought a new bus for the school, and it is to be used by all of "
    "the children that live in the village. Parents were told of this at a meeting.",
    "italian": "Il comune ha comprato un nuovo autobus per la scuola, che è usato da tutti i "
    "bambini del paese e della valle. Ai genitori non è costato nulla, con una sola eccezione.",
    "german": "Die Gemeinde hat für die Schule einen neuen Bus gekauft, mit dem auch die Kinder "
    "aus dem Nachbarort in das Dorf fahren. Das ist den Eltern nicht in Rechnung gestellt.",
    "french": "La commune a acheté un nouveau bus pour les élèves de l'école, qui est conduit par "
    "une dame du village. Les parents ne paient pas plus que dans les autres communes.",
    "danish": "Kommunen har købt en ny bus til skolen, og den er for de børn som ikke bor i byen. "
    "Det er en gave af en mand der har boet på øen, og kom til landet efter krigen.",
    "norwegian": "Kommunen har kjøpt en ny buss til skolen, og den er for de barna som ikke bor i "
    "byen. Det er en gave av en mann som liker å bo på øya, og kom hit etter krigen.",
    "polish": "Gmina kupiła nowy autobus dla szkoły, do której chodzą dzieci z całej okolicy. "
    "Jest to prezent od firmy, która za nic nie chce się z tego tłumaczyć na zebraniu.",
    "ukrainian": "Громада купила новий автобус для школи, у якій вчаться діти з усіх сіл. Це "
    "подарунок від фірми, що не хоче про це говорити, але за нього дякують і на зборах.",
}
ALIKE = {"danish", "norwegian"}  # which differ in few function words


def found(text, language):
    return likely_language(Counter(tokenize(text)), language)


@pytest.mark.parametrize("language", TEXTS)
def test_languages(language):
    for said in TEXTS:
        result = found(TEXTS[language], said)
        if said == language or {said, language} == ALIKE:
            assert result is None
        else:
            assert result["said"] == said
            assert result["likely"] == language
            assert all(word in tokenize(TEXTS[language]) for word in result["examples"])


def test_nothing_is_told_where_nothing_is_known():
    assert found(TEXTS["italian"], "text") is None  # which names no language
    assert found(TEXTS["italian"], "sesotho") is None
    for misspelt in ("italain", "Italiano"):
        assert found(TEXTS["italian"], misspelt)["said"] == misspelt
    assert found("", "english") is None
    assert found("il del che per", "english") is None  # fewer than ENOUGH
    assert found("il del che per di", "en-GB")["likely"] == "italian"
    assert ENOUGH == 5


def test_frequent_words_alone_are_looked_at():
    counts = Counter({f"word{i}": 2 for i in range(FREQUENT)}) + Counter(tokenize(TEXTS["german"]))
    assert likely_language(counts, "english") is None


def test_what_to_set():
    said = warning(found(TEXTS["italian"], "english"))
    assert said.startswith("warning: the language of the texts is said to be English, but words of")
    assert said.endswith("such as --data.language italian (docs/languages.md)")
