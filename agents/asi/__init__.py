"""ASI: skills induced from successes, verified by execution, called as actions.

:mod:`agents.asi.agent` is the method on one page; :mod:`agents.asi.induction` asks for skills,
:mod:`agents.asi.replay` verifies them, :mod:`agents.asi.library` keeps them within bounds.
"""
