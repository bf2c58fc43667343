"""WorldCoder's prompts."""
