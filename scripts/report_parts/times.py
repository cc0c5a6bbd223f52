"""Times as texts: three digits and a unit."""

import decimal
import re

UNITS = {"s": 0, "ms": 3, "µs": 6}  # digits by which the point moves
SPACE = "\N{NO-BREAK SPACE}"
WRITTEN = re.compile(rf"(\d+(?:\.\d+)?){SPACE}(s|ms|µs)\b")


def unit_for(time_s):
    return next((unit for unit, moved in UNITS.items() if time_s * 10**moved >= 0.9995), "µs")


def seconds(value):
    """In a suitable unit, or the one of its figure: see with_one_unit()."""
    unit = unit_for(value)
    scaled = value * 10 ** UNITS[unit]
    digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
    return f"{scaled:.{digits}f}{SPACE}{unit}"


def times_in(text):
    """Seconds of the times that seconds() wrote in a text."""
    return [float(number) / 10 ** UNITS[unit] for number, unit in WRITTEN.findall(text)]


def in_unit(text, unit):
    """The text with these times in one unit, where that can be read, in the same digits."""

    def moved(found):
        number = decimal.Decimal(found[1]).scaleb(UNITS[unit] - UNITS[found[2]])
        can_be_read = 0.001 <= number < 100_000 or not number
        return f"{number or decimal.Decimal(0):f}{SPACE}{unit}" if can_be_read else found[0]

    return WRITTEN.sub(moved, text)
