"""The embedded stand-in for a chat model: seeded rules that read the prompt, not a language model.

It plays PlanCraft from the text that it is shown and writes memories in OCM's form, so that the whole
system runs on a machine without an API key. It knows no item and no recipe: what it uses was observed
in the episode or read in the memory of the prompt. Every reply is a pure function of the request.

::

    client        Request -> Reply: recognises from the text what is asked
      playing     one acting reply: take, follow a plan, look something up, try, give up
        planning  facts and stock -> jobs          shaping    what to try without knowing
        moving    a job -> the next action         manner     the reply, now and then untidy
      reflecting  one learning plan
      updating    one code reply and its repairs
        drafting  lesson and source -> code        mistakes   broken code, on purpose
        knowledge facts -> Python source
      otherwise   what these rules do not understand
    under all of them
      reading     text -> states and history       lessons    prompt -> what an episode taught
      memory      index and facts in the prompt    facts, grids, names
"""

from backbones.scripted.client import ScriptedBackboneClient

__all__ = ["ScriptedBackboneClient"]
