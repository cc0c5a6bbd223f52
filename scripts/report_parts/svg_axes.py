"""Axes of the page's pictures: which values have a tick, its text, and where a value lies."""

import math

# Width of a letter of the pictures' texts, in the units of the picture; of a digit in bold where the font is a wide one.
LETTER, BOLD_LETTER = 5.9, 7.7
MOST_TICKS = 6


def number_text(value):
    """Three digits, without an exponent where it can be read so."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        text = f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
        return text.replace(",", " ") if abs(value) >= 1000 else text
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def linear_ticks(low, high):
    """Round values within the limits, which are different."""
    rough = (high - low) / MOST_TICKS
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= 0.999 * rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def log_ticks(low, high):
    """Round values in a ratio of one, two or five to powers of ten; those of a linear axis where less than two such values are in
    so narrow a range."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,)):
        ticks = [digit * 10.0**k for k in decades for digit in digits]
        ticks = [tick for tick in ticks if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]
        if len(ticks) < 2:
            return linear_ticks(low, high)
        if len(ticks) <= MOST_TICKS + 1:
            return ticks
    return ticks[:: math.ceil(len(ticks) / MOST_TICKS)]


def finite(values):
    return [value for value in values if value is not None and math.isfinite(value)]


class Scale:
    """Places the values of an axis between two ends, in units of the picture."""

    def __init__(self, axis, values, first, last):
        self.axis, self.first, self.last = axis, first, last
        self.is_log = axis.kind == "log"
        values = [value for value in finite(values) if value > 0 or not self.is_log] or [1.0]
        low, high = min(values), max(values)
        if axis.kind == "category":
            low, high = -0.5, len(axis.names) - 0.5
        elif self.is_log:
            room = max((high / low) ** 0.04, 1.05)
            low, high = low / room, high * room
        else:
            low = min(low, 0.0) if axis.from_zero else low
            room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
            low, high = low - room * (not axis.from_zero or low < 0), high + room
        self.low, self.high = low, high

    def place(self, value):
        if self.is_log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def can_place(self, value):
        return value is not None and math.isfinite(value) and (value > 0 or not self.is_log)

    def ticks(self):
        """[(place, text)]"""
        if self.axis.kind == "category":
            return [(self.place(k), name) for k, name in enumerate(self.axis.names)]
        values = self.axis.ticks or (log_ticks if self.is_log else linear_ticks)(self.low, self.high)
        return [(self.place(value), number_text(value)) for value in values if self.low <= value <= self.high]


def without_overlaps(ticks):
    """The ticks of a horizontal axis whose texts have room beside each other, from the left."""
    kept, end = [], -math.inf
    for place, text in ticks:
        half = LETTER * len(text) / 2
        if place - half > end + 4:
            kept.append((place, text))
            end = place + half
    return kept
