import gzip

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import BinaryFile


def read(path, size):
    with BinaryFile(path) as file:
        return b"".join(iter(lambda: file.read(size), b""))


@pytest.mark.parametrize("size", [-1, 1_000_000])
@pytest.mark.parametrize(("zipped", "most"), [(90_000, 9_000_000), (80_000, 2**23)])
def test_a_gzip_file_unfolds_to_a_hundred_times_its_size_or_8_mb(tmp_path, size, zipped, most):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(most)).ljust(zipped, b"\0"))  # filled up, as gzip allows
    assert read(path, size) == bytes(most)
    path.write_bytes(gzip.compress(bytes(most + 1)).ljust(zipped, b"\0"))
    with pytest.raises(InputError, match=f"a.gz: .* unfolds to more than {most:,} bytes, over 100"):
        read(path, size)
