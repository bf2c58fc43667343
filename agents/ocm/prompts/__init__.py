"""OCM's own prompts: memory in view, reflection, update, repair."""
