from gile_lightning.data.formats.skipped import Skipped


def test_counts_by_reason_with_the_first_place():
    skipped = Skipped()
    skipped.add("b", "file:3")
    skipped.add("a", "")
    skipped.add("b", "file:7", 4)
    skipped.add("a", "file:9", 2)
    skipped.add("nothing", "file:1", 0)
    assert skipped.state() == {
        "a": {"count": 3, "first": "file:9"},
        "b": {"count": 5, "first": "file:3"},
    }
