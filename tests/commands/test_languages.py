import pytest
import Stemmer

from gile_lightning import fit
from gile_lightning.commands.languages import knows_english_alone, language_warning
from gile_lightning.data.language_name import stemmer_of
from gile_testing import runs

MINILM = "all-MiniLM-L6-v2"
ENGLISH = "set --data.pretrained to a model of several languages"


def model(stemmer):
    matchers = [{"class_path": "x.LexicalMatch", "init_args": {"stemmer": stemmer}}, {"y": None}]
    return {"model": {"init_args": {"matchers": matchers}}}


@pytest.mark.parametrize(
    ("languages", "stemmer", "remedy"),
    [
        (["english"], "english", None),
        (["en"], "german", None),  # English is the default, which may not have been changed
        (["german"], "german", None),
        (["de"], "german", None),
        (["german"], None, None),
        (["german"], "auto", None),
        (["english", "ukrainian"], "auto", None),
        (["german"], "english", "german"),
        (["it"], "english", "italian"),
        (["pt-BR"], "english", "portuguese"),
        (["french"], "german", "french"),
        (["ukrainian"], "english", "null"),
        (["english", "german"], "english", "null"),
    ],
)
def test_stemmers(languages, stemmer, remedy):
    warning = language_warning(model(stemmer), languages, None)
    if remedy is None:
        assert warning is None
    else:
        assert f"has the stemmer {stemmer} (set stemmer: {remedy})" in warning
        assert "\n" not in warning


def test_every_stemmer_is_known():
    own = {"porter", "dutch_porter"}  # older ones of English and Dutch
    codes = [code for code in map(stemmer_of, _two_letters()) if code]
    assert sorted(codes) == sorted(set(Stemmer.algorithms()) - own)


def _two_letters():
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [a + b for a in letters for b in letters]


@pytest.fixture
def folder(tmp_path):
    """Makes the folder of a model, with a card if there is one."""
    pytest.importorskip("sentence_transformers")

    def make(name, card=None):
        path = tmp_path / name
        path.mkdir()
        (path / "tokenizer.json").write_text("{}")
        if card is not None:
            (path / "README.md").write_text(card)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("name", "card", "alone"),
    [
        ("mine", "---\nlanguage: en\n---\n# Mine", True),
        ("mine", "---\nlanguage:\n- en\nlicense: mit\n---\n", True),
        ("mine", "---\nlanguage:\n- multilingual\n- en\n- de\n---\n", False),
        (MINILM, "---\nlanguage: [en, de]\n---\n", False),  # tuned further, under the old name
        ("mine", "---\nlicense: mit\n---\n", False),
        ("mine", "---\nnot: [yaml\n---\n", False),
        ("mine", None, False),
        (MINILM, None, True),
        ("e5-base-v2", "# no card", True),
        ("multilingual-e5-base", None, False),
        ("bge-small-en-v1.5", None, True),
        ("paraphrase-multilingual-MiniLM-L12-v2", None, False),
    ],
)
def test_encoders(folder, name, card, alone):
    path = folder(name, card)
    assert knows_english_alone(path) == alone
    warning = language_warning(model("german"), ["german"], path)
    assert (warning is not None and ENGLISH in warning) == alone
    assert language_warning(model("english"), ["english"], path) is None


def test_a_fit_warns_once(tmp_path):
    pytest.importorskip("gile_testing.minilm")
    options = (*runs.MATCHING, "--data.language", "german", "--data.pretrained", MINILM)
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", *options, epochs=1))
    warnings = [line for line in done.printed.splitlines() if line.startswith("warning: ")]
    parts, texts = warnings  # the built-in texts are English
    assert "set stemmer: german" in parts
    assert ENGLISH in parts
    assert "said to be German, but words of English are frequent" in texts
