"""ReAct: the memoryless baseline."""
