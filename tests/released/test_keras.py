"""Reading files of every published family, with random weights."""

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.released import read_weights
from gile_testing import released_oracle as oracle

SHARING = {"none": "none", "enc": "encoders", "att": "attention", "both": "both"}
FAMILIES = [
    *[(("none", encoder, "gile"), 1) for encoder in ("attdense", "attgru", "attbigru")],
    *[((share, "attdense", "gile"), n) for share in ("att", "enc", "both") for n in (2, 8)],
    (("none", "attdense", "gile"), 2),
    (("att", "attgru", "gile"), 2),
    (("none", "attdense", "linear 1"), 1),
    (("none", "attdense", "linear 1"), 2),
    *[((share, "attdense", "linear 1"), n) for share in ("att", "enc", "both") for n in (2, 8)],
    *[(("att", encoder, "linear 1"), 2) for encoder in ("attgru", "attbigru")],
    (("none", "attdense", "linear"), 1),
    (("att", "attdense", "linear"), 2),
]
DENSE = ("none", "attdense", "gile")

every_family = pytest.mark.parametrize(
    ("family", "languages"), FAMILIES, ids=[f"{'-'.join(f)}-{n}" for f, n in FAMILIES]
)


def check(model, x, tables, weights):
    """Compare all outputs for all languages with the equations in NumPy."""
    rng = np.random.default_rng(3)
    for language, table in zip(model.languages, tables, strict=True):
        labels = rng.normal(size=(9, 40)) if "unit" in table else None
        given = None if labels is None else torch.from_numpy(labels)
        with torch.no_grad():
            output = model(language, torch.from_numpy(x), given)
        expected = oracle.run(x, labels, table, weights)
        for actual, wanted in zip(output, expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-9)
        # both attentions must be alive, or this would not tell their tensors apart
        assert expected[1].std() > 1e-3
        assert expected[2].std() > 1e-3


@every_family
def test_computes_what_the_equations_say(published, x, family, languages):
    h5, args, tables, weights = published(family, languages)
    model = read_weights(h5, args).double()
    check(model, x, tables, weights)
    assert model.sharing == SHARING[family[0]]
    assert f"att{model.layer_kind}" == family[1]
    sizes = [w.size for tensors in weights.values() for w in tensors if w is not None]
    assert sum(p.numel() for p in model.parameters()) == sum(sizes)
    counts = [None] * languages if family[2] == "gile" else [5 + i for i in range(languages)]
    assert list(model.label_counts.values()) == counts
    assert model.joint_dim == (11 if family[2] == "gile" else None)


@every_family
def test_without_args(published, family, languages):
    h5, args, _, _ = published(family, languages)
    known = read_weights(h5, args)
    if family[1] != "attdense" and family[2] == "linear 1":
        with pytest.raises(InputError, match=r"activation of its recurrent layers.*args\.json"):
            read_weights(h5)
        return
    inferred = read_weights(h5)
    assert inferred.languages == [f"language_{i}" for i in range(languages)]
    assert (inferred.sharing, inferred.layer_kind) == (known.sharing, known.layer_kind)
    assert inferred.joint_dim == known.joint_dim
    assert list(inferred.label_counts.values()) == list(known.label_counts.values())
    for mine, other in zip(inferred.parameters(), known.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_specific_labels_of_english_and_german(published, x):
    family = ("both", "attdense", "gile")
    h5, args, tables, weights = published(family, 2, [1058, 809], joint=1333)
    model = read_weights(h5, args).double()
    assert sum(p.numel() for p in model.parameters()) == 226_556
    check(model, x, tables, weights)


def test_linear_labels_of_a_single_column_need_args(published, x):
    """Two classifiers of 100 and 1 labels look like an attention block; args.json says not so."""
    family, counts = ("both", "attdense", "linear 1"), [5, 100, 1]
    h5, args, tables, weights = published(family, 3, counts)
    check(read_weights(h5, args).double(), x, tables, weights)


def renumbered(number):
    """Change the numbers of all layers, as a Keras process with other models before would."""

    def change(found):
        changed = {}
        for name, value in found.items():
            for kind in ("time_distributed", "dense", "gru"):
                for n in range(99, 0, -1):
                    name = name.replace(f"{kind}_{n}/", f"{kind}_<{number(n)}>/")
                    name = name.replace(f"{kind}_{n}_", f"{kind}_<{number(n)}>_")
            changed[name.replace("<", "").replace(">", "")] = value
        return changed

    return change


@pytest.mark.parametrize("number", [lambda n: n + 95, lambda n: 3 * n], ids=["n + 95", "3 n"])
@pytest.mark.parametrize("output", ["gile", "linear 1"])
def test_only_the_order_of_the_numbers_matters(published, x, output, number):
    family = ("att", "attdense", output)
    h5, args, tables, weights = published(family, 2, change=renumbered(number))
    check(read_weights(h5, args).double(), x, tables, weights)
    assert read_weights(h5).sharing == "attention"


def test_a_tensor_that_is_there_twice(published):
    new, old = "timedistributed_9/dense_1_W", "timedistributed_1/dense_1_W"
    family = ("both", "attdense", "linear 1")
    h5, args, _, _ = published(family, 2, change=lambda found: found | {new: found[old]})
    assert read_weights(h5, args).sharing == "both"
    h5, args, _, _ = published(family, 2, change=lambda found: found | {new: found[old] + 1})
    with pytest.raises(InputError, match=r"timedistributed_9/dense_1_W is there twice"):
        read_weights(h5, args)


def test_other_sizes(published, x):
    """Sizes are the arguments', so models trained with the authors' code at others are read."""
    family = ("none", "attgru", "gile")
    tables = oracle.names(family, 1)
    weights = oracle.draw(tables, [5], joint=4, dim=6, width=7)
    h5, args, _, _ = published(family, wdim=6, sdim=7, ddim=7)
    oracle.write(h5, oracle.tensors(weights, False))
    model = read_weights(h5, args).double()
    assert (model.input_dim, model.encoder("english").hidden_dim) == (6, 7)
    labels = np.random.default_rng(1).normal(size=(3, 6))
    with torch.no_grad():
        output = model("english", torch.from_numpy(x[..., :6]), torch.from_numpy(labels))
    for actual, wanted in zip(
        output, oracle.run(x[..., :6], labels, tables[0], weights), strict=True
    ):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=1e-9)


# --- what cannot be read ---


def test_files_that_are_no_weights(published, tmp_path):
    h5, args, _, _ = published(DENSE)
    whole = h5.read_bytes()
    for path in (tmp_path / "none.h5", tmp_path):
        with pytest.raises(InputError, match="no such file"):
            read_weights(path, args)
    for content in (b"", b"not HDF5", whole[:100], whole[: len(whole) // 2]):
        h5.write_bytes(content)
        with pytest.raises(InputError, match=r"weights\.h5: not a whole HDF5 file"):
            read_weights(h5, args)
    oracle.write(h5, {})
    with pytest.raises(InputError, match=r"weights\.h5: no tensor in the file"):
        read_weights(h5)


@pytest.mark.parametrize(
    "name",
    [
        "embedding_1/embedding_1/embeddings",
        "dense_7/dense_7/gamma",
        "gru_1/gru_1/kernel_2",
        "dense_7/dense_7_W",
    ],
)
def test_unknown_tensor(published, name):
    h5, _, _, _ = published(DENSE, change=lambda found: found | {name: np.ones((4, 4), "f4")})
    with pytest.raises(InputError, match=rf"weights\.h5: {name}: unknown"):
        read_weights(h5)


@pytest.mark.parametrize(
    ("family", "languages", "name"),
    [
        (DENSE, 1, "time_distributed_3/kernel"),
        (("none", "attbigru", "gile"), 1, "gru_3/recurrent_kernel"),
        (("att", "attdense", "linear 1"), 2, "dense_6_b"),
        (("att", "attgru", "linear 1"), 2, "gru_2_U_r"),
    ],
)
def test_missing_tensor(published, family, languages, name):
    def drop(found):
        return {key: value for key, value in found.items() if not key.endswith(f"/{name}")}

    h5, _, _, _ = published(family, languages, change=drop)
    with pytest.raises(InputError, match=rf"weights\.h5: no tensor {name}$"):
        read_weights(h5)


@pytest.mark.parametrize(
    ("family", "languages", "name", "message"),
    [
        (DENSE, 1, "time_distributed_3", r"6 time_distributed layers .*, without .*_3, expected 7"),
        (DENSE, 1, "dense_8", r"1 dense layers \(dense_7\), expected 2"),
        (("none", "attgru", "gile"), 1, "gru_2", r"1 gru layers \(gru_1\), expected 2"),
        (("att", "attdense", "linear 1"), 2, "dense_4", r"without dense_4, expected 10"),
    ],
)
def test_missing_layer(published, family, languages, name, message):
    def drop(found):
        return {key: value for key, value in found.items() if f"/{name}" not in key}

    h5, args, _, _ = published(family, languages, change=drop)
    with pytest.raises(InputError, match=message):
        read_weights(h5, args)
    with pytest.raises(InputError, match=r"weights\.h5: .*args\.json"):
        read_weights(h5)


def test_too_many_layers(published):
    more = {
        "time_distributed_9/time_distributed_9/kernel": np.ones((11, 1), "f4"),
        "time_distributed_9/time_distributed_9/bias": np.ones(1, "f4"),
        "gru_1/gru_1/kernel": np.ones((40, 300), "f4"),
        "gru_1/gru_1/recurrent_kernel": np.ones((100, 300), "f4"),
        "gru_1/gru_1/bias": np.ones(300, "f4"),
    }
    h5, args, _, _ = published(DENSE, change=lambda found: found | more)
    with pytest.raises(InputError, match=r"8 time_distributed layers .*_9\), expected 7"):
        read_weights(h5, args)
    with pytest.raises(InputError, match="time_distributed_9, dense_7, dense_8, gru_1; some are"):
        read_weights(h5)


@pytest.mark.parametrize(
    ("family", "languages", "name", "shape", "expected"),
    [
        (DENSE, 1, "time_distributed_1/kernel", [50, 100], [40, 100]),
        (DENSE, 1, "dense_8/kernel", [40, 12], [40, 11]),
        (DENSE, 1, "time_distributed_7/kernel", [11], [11, 1]),
        (("none", "attgru", "gile"), 1, "gru_2/recurrent_kernel", [100, 200], [100, 300]),
        (("att", "attdense", "linear 1"), 2, "dense_10_b", [7], [6]),
        (("att", "attgru", "linear 1"), 2, "gru_3_W_h", [40, 99], [40, 100]),
    ],
)
def test_wrong_shape(published, family, languages, name, shape, expected):
    def change(found):
        (key,) = [key for key in found if key.endswith(f"/{name}")]
        return found | {key: np.ones(shape, "f4")}

    h5, args, _, _ = published(family, languages, change=change)
    with pytest.raises(InputError) as error:
        read_weights(h5, args)
    assert f"weights.h5: {name} has shape {shape}, expected {expected}" in str(error.value)


@pytest.mark.parametrize(
    "value",
    [np.full(11, np.nan, "f4"), np.full(11, -np.inf, "f4"), np.ones(11, "i4"), "text"],
    ids=["nan", "infinite", "integers", "text"],
)
def test_values_that_are_no_finite_numbers(published, value):
    name = "dense_7/dense_7/bias"
    h5, args, _, _ = published(DENSE, change=lambda found: found | {name: value})
    with pytest.raises(InputError, match=rf"{name} holds values that are not finite"):
        read_weights(h5, args)
