"""ALFWorld's rules: they know no place and no thing, only what was seen or read in the memory.

::

    player        what the client asks
      playing     one turn: look something up, find, take, change, bring, put
        searching where to look next, and what to try a change with
      reflecting  the learning plan
      drafting    lesson and source -> code        mistakes   code that misleads, on purpose
        knowledge facts -> Python source           lessons    what an episode taught
    under all of them
      world       history -> what is where         memory     source -> facts
      reading     one observation -> data          goals      goal -> data
      facts
"""
