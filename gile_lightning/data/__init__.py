"""Corpora: readers, vocabulary, encoded shards, ragged batches and data modules."""

from gile_lightning.data.document import Document
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.multilingual import Multilingual
from gile_lightning.data.readers.attack import ATTACK
from gile_lightning.data.readers.bioasq import BioASQ
from gile_lightning.data.readers.columns import Columns
from gile_lightning.data.readers.corpus import Corpus
from gile_lightning.data.readers.dw import DW

__all__ = [
    "ATTACK",
    "DW",
    "BioASQ",
    "Columns",
    "Corpus",
    "Document",
    "DocumentDataModule",
    "Multilingual",
    "RaggedBatch",
    "Skipped",
    "Texts",
]
