"""What a call costs: token usage times prices. A price is never guessed.

The built-in table is ``prices.toml``. It goes by the model's name, whatever server offers it; a spec's
own prices win.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ocm.spec import OpenAIBackbone, Prices
from ocm.types import Usage

_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_PER_TOKEN = 1e-6


@cache
def price_table() -> Mapping[str, Prices]:
    """The built-in prices by model name."""
    text = files("backbones").joinpath("prices.toml").read_text("utf-8")
    return {model: Prices(**entry) for model, entry in tomllib.loads(text).items()}


def known_prices(model: str, table: Mapping[str, Prices] | None = None) -> Prices | None:
    """Prices of a model by its name, or by its name without the snapshot's date; None if unknown."""
    table = price_table() if table is None else table
    return table.get(model) or table.get(_SNAPSHOT.sub("", model))


def prices_of(spec: OpenAIBackbone) -> Prices | None:
    """The spec's own prices, else the built-in ones of its model, else None."""
    return spec.prices or known_prices(spec.model)


def cost(usage: Usage, prices: Prices | None) -> float | None:
    """US dollars, or None where no price is known.

    ``usage.cached`` is a part of ``usage.prompt`` and has its own price; reasoning tokens are a part of
    ``usage.completion``.
    """
    if prices is None:
        return None
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    fresh = usage.prompt - usage.cached
    total = fresh * prices.input + usage.cached * cached_price + usage.completion * prices.output
    return total * _PER_TOKEN
