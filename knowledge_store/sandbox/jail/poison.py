"""The touch probe: K_o replaced by objects that notice any use.

A procedure that still runs to its end has used nothing of K_o. Importing a name, storing it, or naming
it in an annotation is no use; calling it, reading an attribute, comparing, formatting or subclassing it
is. The probe asks for contact, not for sense: ``print(Recipe)`` passes it.
"""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

CONTAINER = "len iter next contains reversed getitem setitem delitem enter exit"
VALUE = "bool hash eq ne lt le gt ge repr str format bytes int float complex index round fspath"
ARITHMETIC = "abs neg pos invert add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"
OBJECT = "call getattribute setattr delattr dir get set copy deepcopy reduce_ex await aiter anext"
CLASS = "instancecheck subclasscheck mro_entries"
OPERATORS = ARITHMETIC.split()
SPECIAL = [*f"{CONTAINER} {VALUE} {OBJECT} {CLASS}".split(), *OPERATORS, *(f"r{name}" for name in OPERATORS)]

touched: list[bool] = []
"""Holds something once K_o was used, even if the code caught :class:`Touched`."""


class Touched(BaseException):
    """K_o was used."""


def _notice(*_: object, **__: object) -> NoReturn:
    touched.append(True)
    raise Touched


Poison = type("Poison", (), {f"__{name}__": _notice for name in SPECIAL})


def module(original: ModuleType) -> ModuleType:
    """A stand-in for K_o whose names, but for modules that it imported itself, are poison."""
    fake = ModuleType("objects")
    for name, value in vars(original).items():
        if not (name.startswith("__") and name.endswith("__")):
            fake.__dict__[name] = value if type(value) is ModuleType else Poison()
    return fake
