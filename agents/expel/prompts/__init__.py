"""Prompts of ExpeL."""
