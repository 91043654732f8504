"""Labels of documents that are unknown, and why."""

import pytest

from gile_lightning.data.formats.unknown_labels import JOINED, OTHER_FORM, UNKNOWN, UnknownLabels

KNOWN = {"Refund": 0, "Late delivery": 1, "Nuts, bolts": 2}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("refund", OTHER_FORM),
        ("LATE DELIVERY", OTHER_FORM),
        ("Refund; Late delivery", JOINED),
        ("refund,Late delivery", JOINED),
        ("Refund/Late delivery", JOINED),
        ("Refund|Late delivery", JOINED),  # in JSON
        ("Refund;Late delivery;", JOINED),
        ("http://x.org/cats; http://x.org/dogs", JOINED),
        ("<urn:a:1>,<urn:a:2>", JOINED),
        ("http://x.org/cats;fur", UNKNOWN),
        ("Refund ", OTHER_FORM),
        ("Late  delivery", OTHER_FORM),
        ("Refund; Fraud", UNKNOWN),  # of which one is unknown itself
        ("Refunds", UNKNOWN),
        ("nuts, bolts", OTHER_FORM),
        (";", UNKNOWN),
        ("", UNKNOWN),
    ],
)
def test_reasons(name, reason):
    assert UnknownLabels(KNOWN).reason(name) == reason
    if ":" not in name:  # of URIs it does not matter whether they are known
        assert UnknownLabels({}).reason(name) == UNKNOWN
