"""ALFWorld's rules: they know no place and no thing, only what was seen or read in the memory.

::

    player        what the client asks
      playing     one turn: find, take, change, bring, put, hold under a light
        astray    steps that lead nowhere
        scene     dialogue -> world and facts        searching  where to look, what to try
      reflecting  the learning plan                telling  sentences on what was seen
      drafting    lesson and source -> code        mistakes   code that misleads, on purpose
        knowledge facts -> Python source           lessons    what an episode taught
          core    what all kinds share             exercises  procedures
    under all of them
      world       history -> what is where         memory     source -> facts
      reading     one observation -> data          goals      goal -> data
      facts
"""
