"""What the eight languages sound like: letters, endings, function words and punctuation.

Everything here is data. Stems are invented from `onsets`, `nuclei` and `codas`; an ending such as
``"-s"`` or ``"ال-"`` holds the stem's place. Only the function words are real ones; in all
languages the same place in a list has about the same meaning, so that their vectors can agree.
"""

from typing import NamedTuple


class Speech(NamedTuple):
    """One language.

    Attributes:
        onsets: what a syllable of a stem begins with.
        nuclei: its vowels ("" where a short vowel is not written).
        codas: what a stem ends with.
        endings: for each kind of word the paradigms, each a tuple of inflected forms.
        functions: by slot: d determiners, p prepositions, k connectors, v auxiliaries, e adverbs.
        phrases: what the slots P (noun phrase), Q (with a quality), C and R (the same, with words
            of no topic) stand for; the order of words and the use of determiners.
        comma: with the space after it.
        question: the question mark.
        capital_nouns: whether nouns have a capital letter inside a sentence.
    """

    onsets: tuple[str, ...]
    nuclei: tuple[str, ...]
    codas: tuple[str, ...]
    endings: dict[str, tuple[tuple[str, ...], ...]]
    functions: dict[str, tuple[str, ...]]
    phrases: dict[str, str]
    comma: str = ", "
    question: str = "?"
    capital_nouns: bool = False


def _paradigms(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(forms.split(" ")) for forms in text.split(", "))


def _speech(
    sounds: tuple[str, str, str],
    endings: tuple[str, str, str, str],
    functions: tuple[str, str, str, str, str],
    phrases: str,
    **rest: str | bool,
) -> Speech:
    onsets, nuclei, codas = (tuple(text.split(" ")) for text in sounds)
    kinds = dict(zip(("noun", "name", "action", "quality"), map(_paradigms, endings), strict=True))
    words = {slot: tuple(text.split(" ")) for slot, text in zip("dpkve", functions, strict=True)}
    order = dict(zip("PQCR", phrases.split(" "), strict=True))
    return Speech(onsets, nuclei, codas, kinds, words, order, **rest)  # type: ignore[arg-type]


SPEECH: dict[str, Speech] = {
    "english": _speech(
        ("b br c cl d dr f fl g gr h l m n p pl r s sh st t tr v w",
         "a e i o u ea oo ai", "n r l t nd st ck m rt ld sk p"),
        ("- -s, -er -ers, -ment -ments", "-ton, -ia, -o, -ham",
         "-ed -ing, -ates -ated, -s -ing", "-ic -ically, -al -ally, -ous -ously"),
        ("the a this every their another", "of in to with for from on by after against",
         "and but that because while when", "is was has will can should",
         "also already today still not now"),
        "dn dqn dc drc",
    ),
    "german": _speech(
        ("b bl br d dr f fl g gr h k kl kr l m n p pf r s sch sp st str t tr v w z",
         "a e i o u ä ö ü ei au ie", "n r l t nd st ch ck rg lt m ß rn"),
        ("- -en, -ung -ungen, -er -ern", "-burg, -au, -ing, -o",
         "-en -te, -t -ten, -ieren -ierte", "-lich -liche -lichen, -ig -ige -igen"),
        ("die eine diese jede ihre andere", "von in zu mit für aus auf durch nach gegen",
         "und aber dass weil während wenn", "ist war hat wird kann soll",
         "auch bereits heute noch nicht jetzt"),
        "dn dqn dc drc", capital_nouns=True,
    ),
    "spanish": _speech(
        ("b br c ch d f fl g gr j l ll m n ñ p pl pr r s t tr v z",
         "a e i o u ie ue ia á", "n r l d t s c m nt rd"),
        ("-o -os, -a -as, -ación -aciones, -idad -idades", "-ez, -ada, -illo, -ía",
         "-ó -aron, -ando -ado, -en -ían", "-oso -osa -osos, -al -ales"),
        ("la una esta cada su otra", "de en a con para desde sobre por tras contra",
         "y pero que porque mientras cuando", "es fue ha va puede debe",
         "también ya hoy todavía no ahora"),
        "dn dnq dc dcr",
    ),
    "portuguese": _speech(
        ("b br c ch d f fl g gr j l lh m n nh p pr r s t tr v x",
         "a e i o u ã ei ou ê", "n r l d t s c m nt rd"),
        ("-o -os, -a -as, -ação -ações, -ão -ões, -agem -agens", "-eira, -inho, -ães, -ado",
         "-ou -aram, -ando -ado, -em -iam", "-oso -osa -osos, -ável -áveis"),
        ("a uma esta cada sua outra", "de em ao com para desde sobre por após contra",
         "e mas que porque enquanto quando", "é foi tem vai pode deve",
         "também já hoje ainda não agora"),
        "dn dnq dc dcr",
    ),
    "ukrainian": _speech(
        ("б бр в г гр д др ж з к кр л м н п пр р с ст т тр х ц ч ш",
         "а е и і о у я", "н р л т к в д м ст ч"),
        ("- -и -ів, -а -и -у, -ія -ії -ію, -ість -ості", "-енко, -івка, -ський, -ов",
         "-ив -ить, -ає -али, -ують -ував", "-ний -на -ні, -ський -ська -ські"),
        ("цей один така кожен їхній інший", "про в до з для від на через після проти",
         "і але що бо поки коли", "є був має буде може треба",
         "також вже сьогодні ще не зараз"),
        "n qn dc rc",
    ),
    "russian": _speech(
        ("б бр в г гр д др ж з к кр л м н п пр р с ст т тр х ц ч ш",
         "а е и о у ы я", "н р л т к в д м ст ч"),
        ("- -ы -ов, -а -ы -у, -ация -ации -ацию, -ость -ости", "-ово, -инск, -ин, -овка",
         "-ил -ит, -ает -али, -уют -овал", "-ный -ная -ные, -ский -ская -ские"),
        ("этот один такой каждый их другой", "о в к с для от на через после против",
         "и но что потому пока когда", "есть был имеет будет может должен",
         "также уже сегодня ещё не сейчас"),
        "n qn dc rc",
    ),
    "arabic": _speech(
        ("ب ت ج ح خ د ر ز س ش ص ط ع ف ق ك ل م ن ه", "ا و ي  ", "ب ت ح د ر س ع ف ق ل م ن"),
        ("- ال- -ات, -ة ال-ة", "-ان, -ون, -اني", "ي- -وا, ت- -ت", "-ي ال-ي, -ية ال-ية"),
        ("هذا أحد تلك كل نفس بعض", "عن في إلى مع لدى من على عبر بعد ضد",
         "و لكن أن لأن بينما عندما", "هو كان قد سوف يمكن يجب",
         "أيضا فعلا اليوم مازال لا الآن"),
        "n nq dc cr", comma="، ", question="؟",
    ),
    "persian": _speech(
        ("ب پ ت ج چ خ د ر ز ژ س ش ف ق ک گ ل م ن ه", "ا و ی  ", "ب پ د ر ز س ش ک گ ل م ن"),
        ("- -ها -های, -ان -انی, -گاه -گاهی", "-آباد, -پور, -زاده", "-ید -ند, -اند -اندند",
         "-انه -انهای, -ین -ینتر, -مند -مندی"),
        ("این یک آن هر همان دیگر", "درباره در به با برای از روی توسط پس علیه",
         "و اما که زیرا تا وقتی", "است بود دارد خواهد تواند باید",
         "نیز قبلا امروز هنوز نه حالا"),
        "n nq dc cr", comma="، ", question="؟",
    ),
}  # fmt: skip

LANGUAGES: tuple[str, ...] = tuple(SPEECH)
"""The languages of the corpus, those of the paper."""

FUNCTION_SLOTS: str = "dpkve"
MARKS: tuple[str, ...] = (".", ",", "?", "!")
"""Punctuation in the order of its concepts; a language may write it in its own way."""
