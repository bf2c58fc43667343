"""ScienceWorld's rules: they know no room, no thing and no device, only what was observed or recalled.

::

    player        what the client asks
      playing     one turn: answer a menu, look something up, do what the task says, guess, try things
        doing     come by a thing, take it, focus on it, bring it    judging  what the task leaves open
        changing  warm and cool    mixing  make a substance          wiring   close a circuit
        seeking   the way, and where to look
        scene     a turn's goal, world and facts
      reflecting  the learning plan                telling  sentences on what was seen
      drafting    lesson and source -> code        mistakes   code that misleads, on purpose
        knowledge facts -> Python source           lessons    what an episode taught
    under all of them
      reading     text -> rooms, things, answers   goals      task text -> what to do
      world       a history -> where all is        observing  a world -> facts
      memory      source -> facts                  facts
"""
