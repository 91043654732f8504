"""Searches of settings: studies of many fits, judged by their validation scores."""
