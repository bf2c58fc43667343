"""Voyager's own prompts: programs in place of actions, criticism, descriptions."""
