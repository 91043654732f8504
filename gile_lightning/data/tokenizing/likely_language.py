"""The language that texts seem to have."""

import heapq
from collections.abc import Mapping
from typing import Any

from gile_lightning.common.errors import nearest
from gile_lightning.data.language_name import NAMES, code_of

FREQUENT = 50  # words of a corpus that are looked at
ENOUGH = 5  # function words among these; English titles have 11, articles of any language 15 to 22
TIMES = 2  # as many as of the language that is said, of the words that only one of the two has

# words that hold a sentence together, by ISO 639-1 code: they are frequent in any text
_LISTS = {
    "ar": "في من على أن إلى التي الذي عن مع هذا هذه كان بين ما لا بعد كما",
    "ca": "de la i el que a les en els un per amb una dels del és al es no més va",
    "cs": "a v na se je že s z do o pro ve k jsou by za byl od jako který po",
    "da": "og i at en er til af på det for med den de som et ikke der har fra var efter",
    "de": "der die und in den von zu das mit ist des auf für im dem nicht ein eine sich auch als",
    "el": "και το του να η της με που την από για τα είναι ο στην οι σε τη θα των στο",
    "en": "the of and to in is for with that was by on are as be this from at it an not which",
    "eo": "la de kaj en estas al por kiu oni ne ĝi li kun sur el ankaŭ estis aŭ pli de",
    "es": "de la el en y que los del las un por con una para es se al lo como su no más",
    "et": "ja on et ei ka oli see mis ta aga kui oma või ning ta seda kes üle välja",
    "eu": "eta da ez du bat dira baina zen egin ere izan duen dute hau horrek batez",
    "fa": "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز می های",
    "fi": "ja on ei että se oli kun ovat myös hän mutta tai joka kuin sen ole jos sekä ollut",
    "fr": "de la le et les des en un une du que dans est pour par sur au qui pas plus aux",
    "ga": "an na agus ar i a is le ag go do bhí sé seo mar den bhfuil níos ach gur",
    "hi": "के में है की और से को का पर ने कि यह एक हैं भी इस लिए नहीं था कर",
    "hu": "a az és hogy nem is egy ez volt de meg csak mint már vagy el ki ha van azt",
    "hy": "է և որ են ու մի այս համար հետ իր էր մեջ ինչպես նաև ոչ",
    "id": "yang dan di dari dengan untuk pada ini dalam adalah tidak itu oleh akan juga atau",
    "it": "di e il la che in un per del è della con non le da una sono i dei al nel alla",
    "lt": "ir kad iš į su yra buvo bei tai kaip apie nuo ar jis tik savo dėl po metų",
    "ne": "र को मा छ यो पनि भने गर्न एक छन् गरेको हो लागि थियो",
    "nl": "de van het een en in is dat op te met voor zijn niet aan er om bij ook worden door",
    "no": "og i å en er til av på det for med den de som et ikke har fra var etter",
    "pl": "w i na z do że się nie jest o to od po dla przez oraz jak za są który",
    "pt": "de a o que e do da em um para com uma os no na por as dos não ao mais",
    "ro": "de și în la a cu pe din că o nu este un mai pentru care sau al sunt prin",
    "ru": "и в на не что с по а как это из к для от его или при но за был",
    "sr": "и у је на да се за су од са као што не који i u je na da se za su od sa kao što ne koji",
    "sv": "och i att en som är av på det för med den till de ett inte om har från var efter",
    "ta": "ஒரு மற்றும் இந்த என்று அந்த இது என்ற உள்ள இருந்து அவர்",
    "tr": "ve bir bu için ile da de olarak olan daha çok gibi ne kadar sonra en olduğu",
    "uk": "і в на з що не до за та у як від для про це або його при але є",
}
_FUNCTION_WORDS = {code: frozenset(words.split()) for code, words in _LISTS.items()}


def likely_language(counts: Mapping[str, int], language: str) -> dict[str, Any] | None:
    """Tell which language texts seem to have, if it is not the one that is said of them.

    It is the language with the most function words among the `FREQUENT` most frequent words.

    Args:
        counts: how often each word occurs, in lower case.
        language: what is said of the texts: a name or code.

    Returns:
        The language that is ``said``, the ``likely`` one, and its function words as ``examples``;
        None if they are the same, or if nothing is known here of the one that is said, unless its
        name is nearly that of the likely one.
    """
    said = code_of(language)
    if said is not None and said not in _FUNCTION_WORDS:
        return None
    words_of_said = _FUNCTION_WORDS[said] if said else frozenset()
    frequent = heapq.nlargest(FREQUENT, counts, key=lambda word: (counts[word], word))
    found = {code: [w for w in frequent if w in known] for code, known in _FUNCTION_WORDS.items()}
    likely = max(found, key=lambda code: len(found[code]))
    own = [word for word in found[likely] if word not in words_of_said]
    others = [word for word in found[said] if word not in _FUNCTION_WORDS[likely]] if said else []
    if len(own) < ENOUGH or len(own) <= TIMES * len(others):
        return None
    if said is None and not nearest(language, [NAMES[likely]]):
        return None
    return {"said": NAMES[said] if said else language, "likely": NAMES[likely], "examples": own[:5]}


def warning(found: Mapping[str, Any]) -> str:
    """Say what to do about what `likely_language` has found."""
    said, likely = (found[key].capitalize() for key in ("said", "likely"))
    return (
        f"warning: the language of the texts is said to be {said}, but words of {likely} are "
        f"frequent ({', '.join(found['examples'])}): train with their language, such as "
        f"--data.language {found['likely']} (docs/languages.md)"
    )
