"""Reads JSON from files that may hold anything."""

import json
import math

MOST_LEVELS = 100  # files of cg2d have 10 at most
MOST = 1e100  # beyond, sums and ratios of what is drawn leave the range of numbers


def finite(text):
    value = float(text)
    if not math.isfinite(value) or abs(value) > MOST or 0 < abs(value) < 1 / MOST:
        raise ValueError(f"{text[:20]} is out of range")
    return value


def whole(text):
    finite(text)
    return int(text)


def cleaned(value, levels=MOST_LEVELS):
    """The same value; halves of characters, which no file can hold, replaced."""
    if levels == 0:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels")
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [cleaned(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item, levels - 1) for key, item in value.items()}
    return value


def json_from(text):
    """Throws ValueError."""
    try:
        return cleaned(json.loads(text, parse_constant=finite, parse_float=finite, parse_int=whole))
    except RecursionError:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels") from None
