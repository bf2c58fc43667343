"""Reflexion: what failures taught, in words."""
