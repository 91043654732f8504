"""The authors' scheme, ported naively: padded, with the texts of every document's own labels.

Documents are cut or padded to 300 words and label texts to 50. Each document has its own slots for
labels, its positives and drawn negatives, and the words of each slot are looked up and averaged;
joint vectors [B, slots, d_j] are made; Adam changes the whole embedding in every step.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS, LABEL_WORDS = 300, 50


class NaiveGILE(nn.Module):
    """GILE-WAN as in the paper, on padded words (id 0 pads)."""

    def __init__(self, vocabulary: int, dim: int, joint_dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary + 1, dim, padding_idx=0)
        nn.init.uniform_(self.embedding.weight[1:], -0.05, 0.05)
        self.dense = nn.Linear(dim, dim)
        self.hidden = nn.Linear(dim, dim)
        self.score = nn.Linear(dim, 1)
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)
        self.document_projection = nn.Linear(dim, joint_dim)
        self.label_projection = nn.Linear(dim, joint_dim)
        self.unit = nn.Linear(joint_dim, 1)

    def forward(self, words: Tensor, label_words: Tensor) -> Tensor:
        """Score documents [B, 300] against their own labels [B, slots, 50]: logits [B, slots]."""
        mask = words > 0
        states = self.dense(self.embedding(words)).relu()
        scores = self.score(self.hidden(states).relu()).squeeze(-1)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        documents = self.norm((weights.unsqueeze(-1) * states).sum(1))
        sums = self.embedding(label_words).sum(2)  # the vector of id 0 is zeros
        labels = self.norm(sums / (label_words > 0).sum(2, keepdim=True))
        joint_labels = self.label_projection(labels).relu()
        joint_documents = self.document_projection(documents).relu()
        logits: Tensor = self.unit(joint_labels * joint_documents.unsqueeze(1)).squeeze(-1)
        return logits

    def loss(self, words: Tensor, label_words: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over slots and documents of the binary cross-entropy."""
        return F.binary_cross_entropy_with_logits(self(words, label_words), targets)


def pad(words: Tensor, lengths: Tensor, width: int) -> Tensor:
    """Lay flat word ids out as [S, width], moved up by one and padded with 0."""
    padded = torch.zeros(len(lengths), width, dtype=torch.long)
    mask = torch.arange(width) < lengths.unsqueeze(1)
    padded[mask] = words.long() + 1
    return padded


def draw_slots(own: Tensor, slots: int) -> tuple[Tensor, Tensor]:
    """Draw each document's slots: its labels, then uniform negatives with replacement.

    Args:
        own: whether documents have labels [B, K].
        slots: per document; labels beyond that number are cut.

    Returns:
        Label ids [B, slots] and targets [B, slots].
    """
    rows, ids = own.nonzero(as_tuple=True)
    places = torch.arange(len(rows)) - torch.searchsorted(rows, rows)
    kept = places < slots
    drawn = torch.randint(own.shape[1], (len(own), slots))
    while (wrong := own.gather(1, drawn)).any():
        drawn[wrong] = torch.randint(own.shape[1], (int(wrong.sum()),))
    drawn[rows[kept], places[kept]] = ids[kept]
    targets = torch.zeros(len(own), slots)
    targets[rows[kept], places[kept]] = 1
    return drawn, targets
