"""Tokenizer, label set and task."""
