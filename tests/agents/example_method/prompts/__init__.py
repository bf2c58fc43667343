"""The notebook's prompts."""
