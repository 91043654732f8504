"""Encoding of a corpus into shards, and their cache."""
