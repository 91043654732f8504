"""PyTorch Lightning suite for generalized input-label embedding (GILE) text classification."""
