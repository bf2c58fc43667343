"""Voyager: programs that solved a task, kept with descriptions and used by later programs.

:mod:`agents.voyager.agent` is the method on one page; :mod:`agents.voyager.writing` reads the programs,
:mod:`agents.voyager.critic` asks for criticism between them, :mod:`agents.voyager.library` keeps them.
"""
