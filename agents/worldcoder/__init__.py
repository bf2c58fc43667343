"""WorldCoder (arXiv 2402.12275): a world model as a program, fitted to what was seen, chooses the plan."""
