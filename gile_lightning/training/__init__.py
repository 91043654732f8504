"""Losses, samplers, optimizers, schedules, callbacks and checkpoint files."""
