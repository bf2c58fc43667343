"""OCM: memory is an executable model, object knowledge K_o and procedure knowledge K_p.

:mod:`agents.ocm.agent` is the method on one page; :mod:`agents.ocm.reflect` writes the learning
plan, :mod:`agents.ocm.update` turns it into code, verifies and repairs it.
"""
