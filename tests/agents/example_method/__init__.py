"""The example of ``docs/methods.md``: a method, whole."""
