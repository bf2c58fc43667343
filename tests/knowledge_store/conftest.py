"""Hypothesis without deadlines, since a slow moment of a shared machine is no failure."""

from hypothesis import settings

settings.register_profile("shared machine", deadline=None, max_examples=60)
settings.load_profile("shared machine")
