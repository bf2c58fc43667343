"""The embedded stand-in for a chat model: seeded rules that read the prompt, not a language model.

It plays PlanCraft from the text that it is shown and writes memories in OCM's form, so that the whole
system runs on a machine without an API key. It knows no item and no recipe: what it uses was observed
in the episode or read in the memory of the prompt. Every reply is a pure function of the request.

::

    client      Request -> Reply
      reading     text -> states, history            memory       text of the prompt -> what is known
      names       likeness of item names             facts        recipes and smelts, observed or recalled
      planning    facts + stock -> jobs              shaping      grids worth trying
      playing     one acting reply                   moving       a job -> the next move
      reflecting  one learning plan                  knowledge    facts -> Python source
      updating    one code reply                     mistakes     broken code, on purpose
"""

from backbones.scripted.client import ScriptedBackboneClient

__all__ = ["ScriptedBackboneClient"]
