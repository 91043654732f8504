"""Ragged batches and the loaders that make them."""
