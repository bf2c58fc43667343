"""PlanCraft (arXiv 2412.21033): crafting in Minecraft as text, from the ``plancraft`` package's data."""
