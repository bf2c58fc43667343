"""The rooms of our own games, invented: what stands where, what may lie about, and what is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Room(NamedTuple):
    """A kind of room."""

    places: tuple[tuple[str, ...], ...]
    """Types of receptacles; those of one place are reached together, as in the benchmark's rooms."""
    things: tuple[str, ...]
    """Types of objects that may lie about."""


class Task(NamedTuple):
    """What a game asks for; its id is made of this."""

    task_type: str
    thing: str
    target: str
    """The type of receptacle where the thing goes, or of lamp."""
    room: str


ROOMS: Mapping[str, Room] = {
    "kitchen": Room(
        places=(
            ("Cabinet", "Cabinet"),
            ("Cabinet",),
            ("CoffeeMachine",),
            ("CounterTop",),
            ("DiningTable",),
            ("Drawer", "Drawer"),
            ("Fridge",),
            ("GarbageCan",),
            ("Microwave",),
            ("SinkBasin",),
            ("StoveBurner", "StoveBurner"),
        ),
        things=("Apple", "Bowl", "Bread", "DishSponge", "Fork", "Knife", "Mug", "Pan", "Plate", "Potato"),
    ),
    "bathroom": Room(
        places=(
            ("BathtubBasin",),
            ("Cabinet", "Cabinet"),
            ("CounterTop",),
            ("Drawer", "Drawer"),
            ("GarbageCan",),
            ("HandTowelHolder",),
            ("Shelf",),
            ("SinkBasin",),
            ("Toilet",),
            ("ToiletPaperHanger",),
        ),
        things=("Candle", "Cloth", "HandTowel", "SoapBar", "SoapBottle", "SprayBottle", "ToiletPaper"),
    ),
    "bedroom": Room(
        places=(
            ("Bed",),
            ("Desk",),
            ("Drawer", "Drawer", "Drawer"),
            ("Dresser",),
            ("GarbageCan",),
            ("LaundryHamper",),
            ("Safe",),
            ("Shelf", "Shelf"),
            ("SideTable",),
        ),
        things=("AlarmClock", "Book", "CD", "CellPhone", "Cloth", "KeyChain", "Laptop", "Pencil", "Pillow"),
    ),
    "livingroom": Room(
        places=(
            ("ArmChair",),
            ("Cabinet",),
            ("CoffeeTable",),
            ("Drawer", "Drawer"),
            ("GarbageCan",),
            ("Shelf", "Shelf"),
            ("SideTable", "SideTable"),
            ("Sofa",),
        ),
        things=("Book", "CreditCard", "KeyChain", "Newspaper", "Pillow", "RemoteControl", "Statue", "Vase"),
    ),
}

TASKS = (
    Task("pick_and_place_simple", "Pencil", "Drawer", "bedroom"),
    Task("pick_and_place_simple", "Vase", "CoffeeTable", "livingroom"),
    Task("look_at_obj_in_light", "CD", "DeskLamp", "bedroom"),
    Task("look_at_obj_in_light", "Newspaper", "FloorLamp", "livingroom"),
    Task("pick_clean_then_place_in_recep", "Cloth", "Cabinet", "bathroom"),
    Task("pick_clean_then_place_in_recep", "Fork", "DiningTable", "kitchen"),
    Task("pick_heat_then_place_in_recep", "Mug", "Cabinet", "kitchen"),
    Task("pick_heat_then_place_in_recep", "Potato", "GarbageCan", "kitchen"),
    Task("pick_cool_then_place_in_recep", "Apple", "CounterTop", "kitchen"),
    Task("pick_cool_then_place_in_recep", "Pan", "StoveBurner", "kitchen"),
    Task("pick_two_obj_and_place", "RemoteControl", "Sofa", "livingroom"),
    Task("pick_two_obj_and_place", "SoapBar", "Toilet", "bathroom"),
)
LAMPS: Mapping[str, str] = {"DeskLamp": "SideTable", "FloorLamp": "SideTable"}
"""Where a lamp stands."""
