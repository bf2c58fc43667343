"""Reflexion's own prompts: reflections in view, and the request for one."""
