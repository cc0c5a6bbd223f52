"""Reads a trace of cg2d run --trace or cg2d solve --trace, and takes one CG step out of it."""

import collections
import dataclasses
import re

from .errors import BAD_DATA, ReportError
from .schema import Schema

MOST_LANES = 64  # more cannot be told apart on a page

TEXT, LENGTH = {"type": "string"}, {"type": "number", "minimum": 0}


def having(**properties):
    return {"type": "object", "properties": properties}


def list_of(items):
    return {"type": "array", "items": items}


ABOUT = having(**dict.fromkeys(("class", "matrix", "grid", "kernel", "transport", "simulated"), TEXT), clock_uncertainty_us=list_of(LENGTH))
EVENT = having(
    **dict.fromkeys(("name", "cat", "ph"), TEXT), args=having(name=TEXT), ts={"type": "number"}, dur=LENGTH,
    tid={"type": "integer", "minimum": 0, "maximum": 1 << 31},
)  # fmt: skip
SCHEMA = Schema(having(otherData=ABOUT, traceEvents=list_of(EVENT)))


@dataclasses.dataclass(frozen=True)
class Bar:
    """A phase of a rank. Microseconds since the step began on the first rank."""

    phase: str
    begin_us: float
    end_us: float


@dataclasses.dataclass(frozen=True)
class Lane:
    """One rank. column, row: its place on the grid; without a grid the ranks stand in one row."""

    rank: int
    column: int
    row: int
    bars: tuple

    def phase_us(self, phase):
        return sum(bar.end_us - bar.begin_us for bar in self.bars if bar.phase == phase)


@dataclasses.dataclass(frozen=True)
class TracedStep:
    """The step of median length."""

    name: str
    step_count: int
    length_us: float
    uncertainty_us: float
    facts: dict
    lanes: tuple
    left_out_count: int  # ranks beyond MOST_LANES

    def phases(self):
        """In the order in which they begin."""
        bars = sorted((bar for lane in self.lanes for bar in lane.bars), key=lambda bar: bar.begin_us)
        return list(dict.fromkeys(bar.phase for bar in bars))

    def mean_us(self, phase):
        """Over the ranks that are shown."""
        return sum(lane.phase_us(phase) for lane in self.lanes) / len(self.lanes)

    def problem(self):
        return f"class {self.facts['class']}" if "class" in self.facts else self.facts.get("matrix", "")

    def run_text(self):
        parts = [self.problem()]
        parts += [f"{key} {self.facts[key]}" for key in ("grid", "kernel", "transport") if key in self.facts]
        return ", ".join(part for part in parts if part)


def events_of(document, path):
    complaint = SCHEMA.complaint(document)
    if complaint or not isinstance(document.get("traceEvents"), list):
        raise ReportError(BAD_DATA, f"{path}: not a trace of cg2d run --trace: {complaint or 'no traceEvents'}")
    needed = ("name", "cat", "ts", "dur", "tid")
    return [event for event in document["traceEvents"] if event.get("ph") == "X" and all(key in event for key in needed)]


def places_of(document):
    """{rank: (column, row)} of the names of ranks."""
    places = {}
    for event in document["traceEvents"]:
        found = re.search(r"\(column (\d{1,9}), row (\d{1,9})\)", event.get("args", {}).get("name", ""))
        if event.get("name") == "thread_name" and found:
            places[event.get("tid")] = (int(found[1]), int(found[2]))
    return places


def windows_of(steps):
    """steps: {rank: its steps in order} -> (begin, end) over all ranks, for each step that all ranks have."""
    count = min(len(own) for own in steps.values())
    every = [[own[index] for own in steps.values()] for index in range(count)]
    return [(min(step["ts"] for step in same), max(step["ts"] + step["dur"] for step in same)) for same in every]


def step_of(path, document):
    """The step of median length, the lower of two: neither the first ones, which warm up, nor one that something disturbed."""
    if not isinstance(document, dict):
        raise ReportError(BAD_DATA, f"{path}: not a trace of cg2d run --trace: an object is needed")
    events = events_of(document, path)
    steps, phases = collections.defaultdict(list), collections.defaultdict(list)
    for event in sorted(events, key=lambda event: event["ts"]):
        if event["cat"] in ("cg_step", "phase"):
            (steps if event["cat"] == "cg_step" else phases)[event["tid"]].append(event)
    if not steps:
        raise ReportError(BAD_DATA, f"{path}: holds no CG step; a trace of cg2d run --trace is needed")
    windows = windows_of(steps)
    order = sorted(range(len(windows)), key=lambda index: windows[index][1] - windows[index][0])
    chosen = order[(len(order) - 1) // 2]
    begin, end = windows[chosen]
    ranks = sorted(steps)
    places = places_of(document)
    has_places = all(rank in places for rank in ranks)

    def bars_of(rank):
        """The phases that began in the step."""
        first, last = steps[rank][chosen]["ts"], steps[rank][chosen]["ts"] + steps[rank][chosen]["dur"]
        own = [event for event in phases[rank] if first <= event["ts"] < last]
        return tuple(Bar(event["name"], event["ts"] - begin, event["ts"] + event["dur"] - begin) for event in own)

    lanes = tuple(
        Lane(rank, *(places[rank] if has_places else (index, 0)), bars_of(rank))
        for index, rank in enumerate(ranks[:MOST_LANES])
    )
    facts = document.get("otherData", {})
    return TracedStep(
        name=steps[ranks[0]][chosen]["name"],
        step_count=len(windows),
        length_us=max(end - begin, 1e-3),
        uncertainty_us=max(facts.get("clock_uncertainty_us", []), default=0.0),
        facts=facts,
        lanes=lanes,
        left_out_count=max(0, len(ranks) - MOST_LANES),
    )
