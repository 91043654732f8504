"""The number of epochs by the number of documents."""

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.training.length import TrainingLength


def test_ten_times_the_documents_are_seen_three_times_as_often():
    length = TrainingLength(epochs=100, documents=1_000, least=1, most=10_000)
    assert length(1_000) == 100
    assert length(10) == 1_000
    assert length(100_000) * 100_000 == 10 * length(1_000) * 1_000


@pytest.mark.parametrize(("documents", "epochs"), [(1, 9), (0, 9), (10**9, 2)])
def test_bounds(documents, epochs):
    assert TrainingLength(least=2, most=9)(documents) == epochs


@pytest.mark.parametrize(
    ("documents", "epochs"),
    [(10, 40), (300, 33), (5_000, 8), (5_688, 8), (5_689, 7), (20_000, 4), (10**6, 3)],
)
def test_eight_epochs_of_five_thousand_documents_by_default(documents, epochs):
    """8 sqrt(5000 / N) is 7.5 at 5,688.9 documents, and 4 at 20,000."""
    assert TrainingLength()(documents) == epochs


@pytest.mark.parametrize(
    ("documents", "factor"),
    [(0, 1), (999, 1), (3_999, 1), (4_000, 2), (15_999, 2), (16_000, 4), (64_000, 8), (10**7, 8)],
)
def test_batches_double_with_four_times_the_documents(documents, factor):
    assert TrainingLength(documents=1_000).batch_factor(documents) == factor
    assert TrainingLength(documents=1_000, larger_batches=False).batch_factor(documents) == 1


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"least": 0}, {"least": 5, "most": 4}])
def test_refused(wrong):
    with pytest.raises(InputError):
        TrainingLength(**wrong)
