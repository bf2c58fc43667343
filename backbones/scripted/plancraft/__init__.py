"""PlanCraft's rules: they know no item and no recipe, only what was observed or read in the memory.

::

    player        what the client asks
      playing     one turn: take, follow a plan, look something up, try, give up
        planning  facts and stock -> jobs          shaping    what to try without knowing
        moving    a job -> the next action
      reflecting  the learning plan                telling  sentences on what was seen
      drafting    lesson and source -> code        mistakes   code that misleads, on purpose
        knowledge facts -> Python source           lessons    what an episode taught
      ruling      what failed -> rules, as words and code
    under all of them
      reading     text -> states and history       memory     source -> facts
      sentences   facts in words                   routines   a way to an item as steps in words
      facts, grids
"""
