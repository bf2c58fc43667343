"""What the stand-in answers to the requests of each method; a method has one module here and one line below.

The more special kinds of request come first: the first that knows a request answers it.
"""

from backbones.scripted.methods import (
    acting,
    asi,
    awm,
    expel,
    ocm,
    poeworld,
    reflexion,
    voyager,
    walle,
    worldcoder,
)
from backbones.scripted.methods.answer import Answer

ANSWERS: tuple[Answer, ...] = (
    *ocm.ANSWERS,
    *reflexion.ANSWERS,
    *walle.ANSWERS,
    *awm.ANSWERS,
    *expel.ANSWERS,
    *asi.ANSWERS,
    *voyager.ANSWERS,
    *poeworld.ANSWERS,
    *worldcoder.ANSWERS,
    *acting.ANSWERS,
)
