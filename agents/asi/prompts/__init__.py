"""ASI's own prompts: skills in view, and their induction."""
