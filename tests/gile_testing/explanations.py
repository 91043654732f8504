"""A hand-made explanation with texts that must not be obeyed."""

from gile_lightning.explaining import AlignedText, ExplainedLabel, Explanation, Phrase, Word

EVIL = "\x1b[31m<b>\x9b5m\u202e&\r"


def explanation(**more):
    words = [Word(text, " ", 0, i // 2, 1) for i, text in enumerate(["Liver,", EVIL, "rat", "x"])]
    label = ExplainedLabel(
        name=f"L{EVIL}",
        uri="",
        unseen=True,
        predicted=False,
        score=0.25,
        logit=1.5,
        calibration=-2.6,
        contributions={"words": 2.0, "prior": -0.5},
        words={"words": [1.5, 0.0, 0.5, 0.0], "names": [0.0, 0.0, -0.25, 0.0]},
        phrases=[Phrase("names", f"Liver, {EVIL}", 0, 1, True)],
        sentences=[{"words": 1.0, "logit": 1.25}, {}],
    )
    given = {"labels": [label], "word_attention": [0.1, 0.2, 0.3, 0.4], "id": EVIL, "note": EVIL}
    return Explanation(
        AlignedText(words, True), **{"sentence_attention": [0.3, 0.7]} | given | more
    )
