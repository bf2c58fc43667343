"""Hypothesis without deadlines: the machine may be busy, and linear time has tests of its own."""

from hypothesis import settings

settings.register_profile("agents", deadline=None)
settings.load_profile("agents")
