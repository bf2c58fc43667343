"""Hypothesis without deadlines: the machine is shared, and a slow moment is no failure."""

from hypothesis import settings

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
