"""A loader that evaluates one language after the other."""

from collections.abc import Iterator, Mapping

from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch


class OneByOne:
    """All batches of one language, then those of the next.

    Args:
        loaders: the languages' loaders.
    """

    batch_sampler = None
    sampler = None

    def __init__(self, loaders: Mapping[str, RaggedLoader]) -> None:
        self.loaders = loaders

    def __len__(self) -> int:
        """Batches of all languages, on each process."""
        return sum(map(len, self.loaders.values()))

    def __iter__(self) -> Iterator[dict[str, RaggedBatch]]:
        for loader in self.loaders.values():
            yield from loader
