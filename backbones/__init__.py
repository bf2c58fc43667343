"""Floor 2: chat models behind one interface, with limits and prices.

``openai`` speaks to any compatible server; ``scripted`` is the embedded, rule-based stand-in for
machines without an API key.
"""
