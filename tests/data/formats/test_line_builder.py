import pytest

from gile_lightning.data.formats.line_builder import LineBuilder, TooMuchError

LINES = ["a" * 20, "", "b" * 30]


def read(path, most):
    builder = LineBuilder(data_files={"train": [str(path)]}, hash="lines", chunksize=8)
    builder.most = most
    return [row["text"] for row in builder.as_streaming_dataset("train")]


def test_a_file_has_up_to_the_most_characters(write):
    """Here 53, in blocks of 8 characters and the rest of their line."""
    path = write("a.txt", "\n".join([*LINES, ""]))
    assert read(path, None) == read(path, 53) == LINES
    with pytest.raises(TooMuchError, match="more than 52 characters"):
        read(path, 52)
