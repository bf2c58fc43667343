"""ExpeL: voted insights, and past successes of similar tasks."""
