import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.released import read_weights

DENSE = ("none", "attdense", "gile")
GRU = ("none", "attgru", "gile")
ATT = ("att", "attdense", "gile")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"args\.json: No such file or directory; give"),
        (b"{", r"args\.json: not JSON text"),
        (b"\xff\xfe{}", r"args\.json: not JSON text"),
        (b"[1]", r"args\.json: a JSON list, expected an object"),
        (b"{}", r"args\.json: no 'languages', 'share', 'enc'; is this the args\.json\?"),
        (b'{"languages": [], "enc": "attdense"}', r"args\.json: no 'share'"),
    ],
)
def test_unreadable(published, content, message):
    h5, args, _, _ = published(DENSE)
    args.unlink()
    if content is not None:
        args.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_weights(h5, args)


@pytest.mark.parametrize(
    ("family", "settings", "message"),
    [
        (DENSE, {"act": "tanh"}, "act is 'tanh'; only models with act 'relu'"),
        (DENSE, {"laact": "linear"}, "laact is 'linear'; only models with laact 'relu'"),
        (GRU, {"gruact": "linear"}, "gruact is 'linear'; only models with gruact tanh or relu"),
        (GRU, {"gruact": ...}, "no 'gruact'"),
        (DENSE, {"onlylabel": True}, "onlylabel is True"),
        (ATT, {"lashare": None}, "lashare is None; only models with lashare True"),
        (DENSE, {"ddim": 50}, "ddim is 50; only models with ddim 100"),
        (DENSE, {"wpad": 300}, "wpad is 300; only models with wpad 900"),
        (DENSE, {"wdim": "40"}, "wdim is '40', expected a number above 0"),
        (DENSE, {"sdim": 0}, "sdim is 0, expected a number above 0"),
        (DENSE, {"enc": "dense"}, "enc is 'dense'; only models with enc attdense or attgru or"),
        (DENSE, {"share": "all"}, "share is 'all'; only models with share none or enc or att or"),
        (DENSE, {"share": []}, r"share is \[\]"),
        (DENSE, {"languages": "english"}, "languages is 'english', expected a list of different"),
        (DENSE, {"languages": ["a.b"]}, "languages is "),
        (DENSE, {"languages": [1]}, "languages is "),
        (ATT, {"languages": ["english", "english"]}, "languages is "),
    ],
)
def test_settings_of_other_models(published, family, settings, message):
    h5, args, _, _ = published(family, 2 if family == ATT else 1, **settings)
    with pytest.raises(InputError, match=rf"args\.json: {message}"):
        read_weights(h5, args)


def test_activation_of_layers_that_are_not_there(published):
    """The baselines' settings name none for joint spaces, and dense models have no gates."""
    h5, args, _, _ = published(("att", "attdense", "linear 1"), 2, laact=..., la=..., gruact=...)
    assert read_weights(h5, args).joint_dim is None


@pytest.mark.parametrize(
    ("settings", "described"),
    [
        ({"languages": ["english", "german", "arabic"]}, "3 languages, sharing attention, dense"),
        ({"share": "enc"}, "2 languages, sharing encoders, dense"),
        ({"enc": "attbigru"}, "2 languages, sharing attention, bigru"),
        ({"la": False}, "linear output"),
        ({"wdim": 50}, "over vectors of 50"),
        ({"sdim": 50, "ddim": 50}, "layers of 50"),
    ],
)
def test_contradicts_the_weights(published, settings, described):
    h5, args, _, _ = published(ATT, 2, **settings)
    with pytest.raises(InputError) as error:
        read_weights(h5, args)
    message = str(error.value)
    assert f"{args} describes " in message
    assert described in message
    assert (
        f"the tensors of {h5} are those of 2 languages, sharing attention, dense layers of 100 "
        "over vectors of 40, GILE output"
    ) in message


def test_joint_dim_contradicts_the_weights(published):
    h5, args, _, _ = published(DENSE, ladim=12)
    with pytest.raises(InputError, match=r"ladim is 12, but the joint space of .*\.h5 has 11"):
        read_weights(h5, args)
    h5, args, _, _ = published(DENSE, ladim=11)
    assert read_weights(h5, args).args == json.loads(args.read_text())
