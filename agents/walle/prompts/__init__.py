"""WALL-E's prompts."""
