"""Why a model gives a label: what each part adds to a logit, and what in the text carries it."""

from gile_lightning.explaining.aligned_text import AlignedText, Word, align_ids, align_text
from gile_lightning.explaining.contributions import Evidence, contributions, evidence
from gile_lightning.explaining.explanation import ExplainedLabel, Explanation, Phrase

__all__ = [
    "AlignedText",
    "Evidence",
    "ExplainedLabel",
    "Explanation",
    "Phrase",
    "Word",
    "align_ids",
    "align_text",
    "contributions",
    "evidence",
]
