"""What labels have learned, after label changes."""

import math

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.label_changes import Change, LabelChanges
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network.outputs import Linear
from gile_lightning.systems.earlier_model import few_labels, labels_of
from gile_lightning.systems.label_regrouping import CHANGED, change_labels, describe_labels
from gile_lightning.training.checkpoint import HPARAMS, STATE
from gile_testing.two_languages import PARTS, built, checkpoint_of, ragged

# English has L, K and R of 4, 3 and 1 documents, and M and X, which are unseen
BEFORE = "networks.english."


def changes(**new):
    return LabelChanges([Change(f"f:{i}", old, to) for i, (old, to) in enumerate(new.items())])


@pytest.fixture
def checkpoint():
    made = checkpoint_of(built(**PARTS))
    rows = torch.tensor([[4.0, 8.0], [1.0, 2.0], [5.0, 7.0]])
    made["state_dict"] |= {
        BEFORE + "label_residual.vectors": rows,
        BEFORE + "label_residual.biases": torch.tensor([4.0, 3.0, 1.0]).log() + rows[:, 0],
        BEFORE + "ridge.coefficients": rows.clone(),
        BEFORE + "ridge.inverse": torch.eye(2),
    }
    rates = torch.tensor([0.5, 0.4, 0.2])
    curves = {"seen": [0.0, 1.0, 1.0, 0.0], "unseen": [0.0, 1.0, 1.0, 0.0]}
    made[STATE]["calibrations"]["english"] = {"log_rates": rates, "thresholds": rates, **curves}
    return made


def of(found, key):
    return found["state_dict"][BEFORE + key]


def test_a_uri_of_another_language(checkpoint):
    """English has URIs, and German has none of these labels."""
    labels = checkpoint[STATE]["tasks"]["english"]["labels"]
    labels["uris"] = [f"urn:{name}" for name in labels["names"]]
    moved = LabelChanges([Change("f:1", "urn:K", ("urn:L",))])
    found = change_labels(checkpoint, moved)
    names = LabelSet(**found[STATE]["tasks"]["english"]["labels"]).names
    assert names == ["L", "R", "M", "X"]
    german = found[STATE]["tasks"]["german"]["labels"]["names"]
    assert german == checkpoint[STATE]["tasks"]["german"]["labels"]["names"]
    wrong = LabelChanges([Change("f:1", "urn:K", ("urn:none",))])
    with pytest.raises(InputError, match="f:1: no label has the URI 'urn:none'"):
        change_labels(checkpoint, wrong)


def test_a_merged_label_has_the_means_weighted_by_documents(checkpoint):
    found = change_labels(checkpoint, changes(K=("N",), R=("N",), X=("Y",)))
    labels = LabelSet(**found[STATE]["tasks"]["english"]["labels"])
    assert labels.names == ["L", "N", "M", "Y"]
    assert labels.frequencies == [4, 4, 0, 0]
    assert labels.texts[1] == "kidney rat"  # that of K, which has more documents
    vectors = torch.tensor([[4.0, 8.0], [(3 * 1 + 5) / 4, (3 * 2 + 7) / 4]])
    assert torch.equal(of(found, "label_residual.vectors"), vectors)
    biases = torch.tensor([math.log(4) + 4, math.log(4) + 2])
    torch.testing.assert_close(of(found, "label_residual.biases"), biases)
    assert torch.equal(of(found, "ridge.coefficients"), torch.tensor([[4.0, 8.0], [6.0, 9.0]]))
    assert torch.equal(of(found, "ridge.inverse"), torch.eye(2))
    odds = (2 / 3) ** (3 / 4) * (1 / 4) ** (1 / 4)  # of 0.4 and 0.2
    state = found[STATE]["calibrations"]["english"]
    torch.testing.assert_close(state["thresholds"], torch.tensor([0.5, odds / (1 + odds)]))
    torch.testing.assert_close(state["log_rates"], torch.tensor([0.5, 0.35]))
    assert torch.equal(of(checkpoint, "ridge.coefficients")[0], torch.tensor([4.0, 8.0]))


def test_a_linear_layer_has_the_means_weighted_by_documents():
    made = checkpoint_of(built(**PARTS | {"output": Linear}))
    made[HPARAMS] = {"output": {"class_path": "gile_lightning.network.outputs.Linear"}}
    rows = torch.tensor([[4.0] * 5, [1.0] * 5, [5.0] * 5])
    made["state_dict"] |= {
        BEFORE + "output.linear.weight": rows,
        BEFORE + "output.linear.bias": torch.tensor([4.0, 3.0, 1.0]).log() + rows[:, 0],
    }
    found = change_labels(made, changes(K=("N",), R=("N",), L=("P", "Q")))
    mean = (3 * 1 + 5) / 4
    expected = torch.tensor([[4.0] * 5, [4.0] * 5, [mean] * 5])  # P, Q, N
    assert torch.equal(of(found, "output.linear.weight"), expected)
    biases = torch.tensor([4.0, 4.0, 4.0]).log() + expected[:, 0]
    torch.testing.assert_close(of(found, "output.linear.bias"), biases)


def test_layers_that_are_not_named(checkpoint):
    """A subclass of the system may set its layer itself."""
    made = checkpoint_of(built(**PARTS | {"output": Linear}))
    found = change_labels(made, changes(K=("L",)))
    assert of(found, "output.linear.weight").shape == (2, 5)
    for named in ("x", {}, {"class_path": "torch.nn.Identity"}):
        made[HPARAMS] = {"output": named}
        with pytest.raises(InputError, match=r"as model\.output, which is none"):
            change_labels(made, changes(K=("L",)))


def test_a_layer_that_cannot_regroup_its_weights(checkpoint):
    checkpoint[HPARAMS] = {"output": {"class_path": "gile_testing.own_parts.ById"}}
    change_labels(checkpoint, changes(M=("N",), X=("Y",)))  # which training has not seen
    with pytest.raises(InputError, match=r"ById knows its labels by number, and has no regroup"):
        change_labels(checkpoint, changes(K=("L",)))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"K": ("L", "N")}, "0 as before, 2 merged into 1, 1 split into 2, 0 new, 0 gone"),
        ({"L": ("L", "P")}, "0 as before, 1 split into 2, 0 new, 0 gone"),
        ({"L": ("K", "P")}, "0 as before, 2 merged into 1, 1 split into 2, 0 new, 0 gone"),
    ],
    ids=str,
)
def test_labels_are_told_once(checkpoint, new, expected):
    """R, the third seen label, is as before each time: the line has one more than named here."""
    found = change_labels(checkpoint, changes(**new))
    labels = LabelSet(**found[STATE]["tasks"]["english"]["labels"])
    line = describe_labels(labels, labels, found[STATE][CHANGED]["english"])
    untouched = sum(
        name not in new and not any(name in to for to in new.values()) for name in "LKR"
    )
    assert line == expected.replace("0 as before", f"{untouched} as before")


def test_others_keep_what_they_have(checkpoint):
    found = change_labels(checkpoint, changes(L=("P", "Q"), K=(), R=("S",)))
    labels = LabelSet(**found[STATE]["tasks"]["english"]["labels"])
    assert labels.names == ["P", "Q", "S", "M", "X"]
    assert labels.frequencies == [4, 4, 1, 0, 0]
    # the German label L, of one document, is split too; R and S, which become S, are unseen
    german = LabelSet(**found[STATE]["tasks"]["german"]["labels"])
    assert german.names == ["N", "P", "Q", "S"]
    assert german.frequencies == [2, 1, 1, 0]
    for key in ("label_residual.vectors", "label_residual.biases", "ridge.coefficients"):
        assert torch.allclose(of(found, key), of(checkpoint, key)[[0, 0, 2]]), key
    later = LabelSet([*"PQSTX"], ["t"] * 5, [5, 4, 2, 1, 0])
    line = describe_labels(labels, later, found[STATE][CHANGED]["english"])
    assert line == "0 as before, 1 renamed, 1 split into 2, 1 new (T), 1 gone"
    found = change_labels(checkpoint, changes(K=("L",)))
    labels = LabelSet(**found[STATE]["tasks"]["english"]["labels"])
    line = describe_labels(labels, labels, found[STATE][CHANGED]["english"])
    assert line == "1 as before, 2 merged into 1, 0 new, 0 gone"


def test_what_is_refused(checkpoint):
    with pytest.raises(InputError, match="f:0: there is no label 'LL'; did you mean 'L'"):
        change_labels(checkpoint, changes(LL=("P",)))
    change_labels(checkpoint, changes(LL=("P",)), others_known=True)
    with pytest.raises(InputError, match="leave no label that training has seen"):
        change_labels(checkpoint, changes(L=(), K=(), R=()))
    checkpoint[STATE]["class_path"] = "gile_lightning.systems.baselines.TfidfCosine"
    with pytest.raises(InputError, match="label changes do not reach what this system has learned"):
        change_labels(checkpoint, changes(L=("P",)))


@pytest.mark.parametrize(
    ("trained", "warned"),
    [
        ([True, True, True, True], False),
        ([True, False, False, True], False),  # a label of most documents
        ([False, True, True, True], "2 of the 3"),
        ([False, False, False, True], "0 of the 3"),  # a new label alone
    ],
    ids=str,
)
def test_few_of_the_known_labels(trained, warned):
    old = LabelSet(["Ants", "Bees", "Cats", "Dogs"], [""] * 4, [6, 2, 2, 0])
    new = LabelSet(["Ants", "Bees", "Cats", "Eels"], [""] * 4, [9, 2, 2, 3])
    found = few_labels(old, new, torch.tensor(trained))
    assert (warned in found) if warned else found is None


def test_labels_of_documents():
    batches = [ragged([[1], [2]], [[0], [2, 0]]), ragged([[1]], [[2]])]
    assert labels_of(batches, 4).tolist() == [True, False, True, False]
