import re
from dataclasses import replace

from gile_lightning.explaining import AlignedText, Word
from gile_lightning.explaining.terminal import shown
from gile_testing.explanations import explanation

SAFE = "\ufffd[31m<b>\ufffd5m\ufffd&\ufffd"


def test_lines():
    assert str(explanation()).splitlines() == [
        f"document {SAFE}",
        SAFE,
        f"L{SAFE} (unseen) (not predicted)  0.25",
        "  logit 1.50, calibration -2.60, log-odds -1.10",
        "  for        words +2.00",
        "  against    prior -0.50",
        "  matched    liver +1.50, rat +0.25",
        f'  names      "Liver, {SAFE}" (inside a longer name)',
        f"  +1.25  Liver, {SAFE}",
        f"attention  x 0.40, rat 0.30, {SAFE} 0.20, Liver, 0.10",
    ]


def test_three_sentences_and_how_many_more():
    words = [Word(text, " ", 0, i, 1) for i, text in enumerate("abcde")]
    effects = [{"logit": effect} for effect in (0.25, -2.0, 1.0, 0.5, 0.75)]
    label = replace(explanation().labels[0], words={}, phrases=[], sentences=effects)
    found = explanation(labels=[label], word_attention=[], sentence_attention=[])
    lines = str(replace(found, text=AlignedText(words, True))).splitlines()
    assert lines[-4:] == [
        "  -2.00  b",
        "  +1.00  c",
        "  +0.75  e",
        "  and 2 more sentences, of less effect",
    ]
    label = replace(label, sentences=effects[:3])
    found = replace(found, text=AlignedText(words[:3], True), labels=[label])
    assert str(found).splitlines()[-1] == "  +0.25  a"


def test_colours_add_only_colours():
    text = shown(explanation(), colours=True)
    assert re.sub(r"\x1b\[[0-9]*m", "", text) == str(explanation())
    assert set(re.findall(r"\x1b.{0,3}", text)) <= {
        f"\x1b[{x}" for x in ("0m", "1m", "2m", "32", "31", "33")
    }
    assert "\x1b[32mLiver,\x1b[0m" in text
