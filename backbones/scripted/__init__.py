"""The embedded stand-in for a chat model: seeded rules that read the prompt, not a language model.

It plays the environments of the paper from the text that it is shown and writes memories in the form that
a method asks for, so that the whole system runs on a machine without an API key. It knows no recipe and
no solution: what it uses was observed in the episode or read in the memory of the prompt. Every reply is
a pure function of the request.

::

    client        Request -> Reply
      methods/    recognises from the text what is asked: one module for each method's requests
      players     recognises the environment
      player      what it needs for one environment; one folder each: plancraft/, …
      manner      an acting reply, now and then untidy
      updating    one code reply and its repairs   mistakes   broken code, on purpose; misleading
      otherwise   what these rules do not understand
    under all of them
      dialogue    acting prompt -> data            report     learning prompt -> data
      index       memory in the prompt -> names, source -> literals
      code        an update's text                 names      likeness of names
      seeds       random draws by chain, episode and call
"""

from backbones.scripted.client import ScriptedBackboneClient

__all__ = ["ScriptedBackboneClient"]
