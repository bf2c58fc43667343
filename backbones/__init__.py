"""Floor 2: chat models behind one interface, with limits and prices.

``openai_client`` speaks to any OpenAI-compatible server; ``scripted`` is the embedded, rule-based
stand-in for machines without an API key; ``registry`` makes either from a spec. ``limits`` and
``breaker`` decide when a request may be sent. What should happen
around every call, such as a journal of replies, is a wrapper with the same protocol
(:class:`backbones.protocol.Backbone`) around what ``registry.create`` returns.
"""
