"""The prompts of PoE-World, in our own words."""
