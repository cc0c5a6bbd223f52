"""Figures of the events counted in each phase (--papi)."""

from . import style
from .figures_grid import ranks_text
from .panels import Axis, BarPanel, Bars, Figure
from .results import PHASES
from .studies import grid_name

# One panel for each event; further events are left out.
MOST_EVENTS = 6
MOST_GRIDS = 8

# On the axis: factor and unit.
SHOWN = {"nanoseconds": (1e-3, "µs")}
UNITS = {"nanoseconds": "ns", "core cycles": "core cycles", "reference cycles": "reference cycles", "misses": "misses"}


def counted_cases(material):
    """(study, P, cases by Px) of the largest problem whose runs have counted events; None if there is none."""
    for study in material.studies:
        for rank_count in (study.shown_rank_count, *reversed(study.rank_counts)):
            cases = [case for _, case in sorted(study.cases[rank_count].items()) if events_of(case)]
            if cases:
                return study, rank_count, cases[:MOST_GRIDS]
    return None


def events_of(case):
    """{event: entry} of the counted events."""
    run = case.run_with("counters")
    return {event["name"]: event for event in run.document["counters"]["events"]} if run else {}


def refused_events(material):
    """{event: PAPI's reason}"""
    found = {}
    for study in material.studies:
        for case in study.all_cases():
            for run in case.runs:
                for event in (run.document.get("counters") or {}).get("refused", []):
                    found[event["name"]] = event["reason"]
    return found


def why_no_counters(material):
    found = counted_cases(material)
    if found and nonzero_events(found[2]):
        return ""
    if found:
        return "every event was counted 0 times"
    refused = refused_events(material)
    if refused:
        return "nothing could be counted: " + "; ".join(f"{name}: {reason}" for name, reason in refused.items())
    return "no run has counted events; cg2d run --papi EVENT does, cg2d events lists what can be counted"


def all_events(cases):
    """{event: kind}"""
    return {name: event["kind"] for case in cases for name, event in events_of(case).items()}


def nonzero_events(cases):
    """The events that occurred in some phase of some grid."""
    happened = {
        name
        for case in cases
        for name, event in events_of(case).items()
        if any(event["phases"].get(phase, {}).get("total") for phase in PHASES)
    }
    return {name: kind for name, kind in all_events(cases).items() if name in happened}


def event_panel(name, kind, study, cases):
    factor, unit = SHOWN.get(kind, (1, UNITS.get(kind, "Count")))
    phase_names = [style.phase_name(phase) for phase in PHASES]
    bars = []
    for index, case in enumerate(cases):
        event = events_of(case).get(name)
        values, tips = [], []
        for phase in PHASES:
            counted = event["phases"].get(phase) if event else None
            values.append(factor * counted["mean"] / case.run_with("counters").cg_steps if counted else None)
            tips.append(event_tip(study, case, name, kind, phase, counted) if counted else "")
        bars.append(Bars(grid_name(case.grid), values, style.series_style(index)[0], tips))
    return BarPanel(
        title=name,
        x=Axis("Phase", "category", names=phase_names),
        y=Axis(f"{unit} per CG step (mean over ranks)", from_zero=True),
        bars=bars,
    )


def event_tip(study, case, name, kind, phase, counted):
    steps = case.run_with("counters").cg_steps
    least, mean, most = (f"{counted[key] / steps:,.4g}" for key in ("minimum", "mean", "maximum"))
    return (
        f"{study.name}, grid {grid_name(case.grid)}, {style.phase_name(phase)}\n"
        f"{name} per CG step: {mean} (ranks: {least} to {most})\n"
        f"total of all ranks: {counted['total']:,.6g}" + (f" {UNITS[kind]}" if kind in UNITS else "")
    )


def counters(material):
    study, rank_count, cases = counted_cases(material)
    kinds = nonzero_events(cases)
    shown = list(kinds.items())[:MOST_EVENTS]
    never = [f"{name}: 0 in every phase" for name in all_events(cases) if name not in kinds]
    note = f"{study.name[0].upper() + study.name[1:]}, {ranks_text(rank_count)}, a colour for each grid."
    left_out = [*never, *(f"{name}: {reason}" for name, reason in refused_events(material).items()), *list(kinds)[MOST_EVENTS:]]
    if any(case.run_with("counters").document["counters"].get("multiplexed") for case in cases):
        note += " Multiplexed: values are estimates."
    if left_out:
        note += f" Not shown: {'; '.join(left_out)}."
    return Figure([event_panel(name, kind, study, cases) for name, kind in shown], note)
