"""Labels of documents that are unknown, and why."""

import pytest

from gile_lightning.data.formats.unknown_labels import JOINED, OTHER_CASE, UNKNOWN, UnknownLabels

KNOWN = {"Refund": 0, "Late delivery": 1, "Nuts, bolts": 2}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("refund", OTHER_CASE),
        ("LATE DELIVERY", OTHER_CASE),
        ("Refund; Late delivery", JOINED),
        ("refund,Late delivery", JOINED),
        ("Refund/Late delivery", JOINED),
        ("Refund; Fraud", UNKNOWN),  # of which one is unknown itself
        ("Refunds", UNKNOWN),
        ("nuts, bolts", OTHER_CASE),
        (";", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_reasons(name, reason):
    assert UnknownLabels(KNOWN).reason(name) == reason
    assert UnknownLabels({}).reason(name) == UNKNOWN
