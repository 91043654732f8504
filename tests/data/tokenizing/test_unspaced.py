"""Which texts are taken for runs of words without spaces."""

from collections import Counter

import pytest

from gile_lightning.data.tokenizing.unspaced import unspaced
from gile_lightning.data.tokenizing.words import tokenize

CHINESE = "细胞在低温条件下生长得非常缓慢，但是温度升高以后它们会迅速分裂。"
JAPANESE = "細胞は低温では非常にゆっくりと成長しますが、温度が上がると急速に分裂します。"
THAI = "เซลล์เติบโตช้ามากที่อุณหภูมิต่ำ แต่เมื่ออุณหภูมิสูงขึ้นพวกมันจะแบ่งตัวอย่างรวดเร็ว"
SPLIT = {
    "Chinese": "细胞 在 低温 条件 下 生长 得 非常 缓慢 ， 但是 温度 升高 以后 它们 会 迅速 分裂 。",
    "Thai": "เซลล์ เติบโต ช้า มาก ที่ อุณหภูมิ ต่ำ แต่ เมื่อ อุณหภูมิ สูงขึ้น พวกมัน จะ แบ่งตัว อย่าง รวดเร็ว",
    "German": "Donaudampfschifffahrtsgesellschaft und Rindfleischetikettierungsüberwachung",
    "Korean": "세포는 낮은 온도에서 매우 천천히 자라지만 온도가 오르면 빠르게 분열한다.",
    "Hindi": "कोशिकाएँ कम तापमान पर बहुत धीरे-धीरे बढ़ती हैं।",
    "nothing": "",
}  # fmt: skip


def found(text):
    return unspaced(Counter(tokenize(text)))


@pytest.mark.parametrize("text", [CHINESE, JAPANESE, THAI, "x" * 41], ids=["zh", "ja", "th", "x"])
def test_runs(text):
    words = tokenize(text)
    result = found(text)
    assert 0.3 <= result["share"] <= 1
    assert any(word.startswith(result["example"]) for word in words)


@pytest.mark.parametrize("language", SPLIT)
def test_texts_with_spaces(language):
    assert found(SPLIT[language]) is None


def test_share_and_example():
    counts = Counter({"a" * 41: 2, "word": 4, "b" * 50: 1})
    assert unspaced(counts) == {"share": (82 + 50) / (82 + 50 + 16), "example": "a" * 30}
    assert unspaced(counts + Counter({"word": 100})) is None  # 31 % without the longest ones
