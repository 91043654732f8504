import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.data.known import Predecessor
from gile_lightning.data.shards.encoding_settings import EncodingSettings
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

BROKEN = r"Instruct: Name the topics\nQuery:"


@pytest.mark.parametrize("key", ["document_prompt", "label_prompt"])
def test_a_line_break_that_no_shell_made(key):
    with pytest.raises(InputError, match=rf"data\.{key} has a backslash and an n in place of a li"):
        EncodingSettings(**{key: BROKEN}).check_prompts()
    for prompt in ("Instruct: Name the topics\nQuery:", r"what does \nabla mean? ", "", None):
        EncodingSettings(**{key: prompt}).check_prompts()


def test_a_trained_model_keeps_its_prompt(tmp_path):
    data = BioASQ(builtin_documents=10, document_prompt=BROKEN, cache_dir=tmp_path)
    with pytest.raises(InputError, match="in place of a line break"):
        data.fingerprint()
    data.predecessor = Predecessor(tokenizer=Tokenizer(["a", "UNK"]))
    assert data.fingerprint()
