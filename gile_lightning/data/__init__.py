"""Corpora: readers, vocabulary, encoded shards, ragged batches and data modules."""

from gile_lightning.data.bioasq import BioASQ
from gile_lightning.data.corpus import Columns, Corpus
from gile_lightning.data.dw import DW
from gile_lightning.data.module import DocumentDataModule
from gile_lightning.data.multilingual import Multilingual
from gile_lightning.data.ragged import RaggedBatch, Texts

__all__ = [
    "DW",
    "BioASQ",
    "Columns",
    "Corpus",
    "DocumentDataModule",
    "Multilingual",
    "RaggedBatch",
    "Texts",
]
