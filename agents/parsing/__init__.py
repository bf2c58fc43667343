"""Tolerant reading of what chat models really write: turns, JSON and code. Pure functions on text.

A reply that cannot be used is described in words fit for the one corrective message. All expressions
are linear in the text.
"""

from agents.parsing.code import CodeReply, fenced_blocks, parse_code
from agents.parsing.json_object import parse_json
from agents.parsing.text import CUT_OFF, UnreadableReply, read_prose, strip_thinking, without_surrogates
from agents.parsing.turn import ParsedTurn, clean_action, parse_turn

__all__ = [
    "CUT_OFF",
    "CodeReply",
    "ParsedTurn",
    "UnreadableReply",
    "clean_action",
    "fenced_blocks",
    "parse_code",
    "parse_json",
    "parse_turn",
    "read_prose",
    "strip_thinking",
    "without_surrogates",
]
