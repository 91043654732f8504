import pytest
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.data import Corpus
from gile_lightning.data.language_name import check_language

SIGNS, DEVICE, TORCH = "up to 50 letters and digits", "for a device", "PyTorch keeps this name"
REFUSED = {
    **dict.fromkeys(["../../tmp/x", "/x", "a/b", "a\\b", "..", ".", "", " ", "-x", "x "], SIGNS),
    **dict.fromkeys(["x" * 51, "x" * 300, "a\nb", "a\0b", "\x1b[2J", "en.us", "<b>", "C:"], SIGNS),
    **dict.fromkeys(["CON", "nul", "Com1"], DEVICE),
    **dict.fromkeys(["training", "keys", "to"], TORCH),
}


def test_a_name_that_yaml_does_not_read_as_text():
    with pytest.raises(InputError, match="False cannot be the name of a language: put it in quo"):
        check_language(False)


@pytest.mark.parametrize(("name", "why"), REFUSED.items(), ids=lambda x: repr(x)[:20])
def test_a_name_that_is_no_file_or_module_is_refused(name, why, tmp_path):
    with pytest.raises(InputError, match=f"cannot be the name of a language: .*{why}"):
        Corpus("x.jsonl", language=name, cache_dir=tmp_path)


NAMES = ["en", "pt_BR", "en-US", "language_1", "chinese (simplified)", "bokmål", "中文", "ک" * 50]


@pytest.mark.parametrize(
    ("options", "parted"),
    [
        ({"language": "italian"}, True),
        ({"language": "FR"}, True),
        ({"language": "it-IT"}, True),
        ({"language": "fr_CA"}, True),
        ({"language": "german"}, False),
        ({"language": "text"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_languages_whose_apostrophes_part_words(options, parted, tmp_path):
    text = Corpus("x.jsonl", cache_dir=tmp_path, **options).settings.tokenizer(["UNK"])
    assert text.words("l'acqua") == (["l", "'", "acqua"] if parted else ["l", "'acqua"])


@pytest.mark.parametrize("name", NAMES)
def test_other_names_are_those_of_files_and_modules(name, tmp_path):
    check_language(name)
    nn.ModuleDict({name: nn.Identity()})
    (tmp_path / f"best-{name}.ckpt.partial").touch()
    assert [file.name for file in tmp_path.iterdir()] == [f"best-{name}.ckpt.partial"]
