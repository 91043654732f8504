"""The vectors of AiTextML."""

from torch import nn

from gile_lightning.systems.baselines.paragraph_vectors import ParagraphVectors, random_vectors


class JointVectors(nn.Module):
    """The vectors of documents, labels and words of one task, in one space.

    Args:
        documents: training documents N.
        labels: labels L seen in training.
        words: the words' vectors.
    """

    def __init__(self, documents: int, labels: int, words: ParagraphVectors) -> None:
        super().__init__()
        dim = words.inputs.shape[1]
        self.documents = random_vectors(documents, dim)
        self.labels = random_vectors(labels, dim)
        self.mapping = random_vectors(dim, dim)
        self.words = words
