"""AWM: workflows from successes, in words."""
