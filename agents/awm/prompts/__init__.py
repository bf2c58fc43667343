"""AWM's own prompts: workflows in view, and the requests for new and for fewer ones."""
