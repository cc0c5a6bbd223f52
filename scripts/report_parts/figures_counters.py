"""Figures of the events counted in each phase (--papi)."""

from . import style
from .figures_grid import ranks_text, settings_names
from .panels import Axis, BarPanel, Bars, Figure
from .results import PHASES

# One panel for each event; further events are left out.
MOST_EVENTS = 6
MOST_GRIDS = 8

UNITS = {"nanoseconds": "ns", "core cycles": "core cycles", "reference cycles": "reference cycles", "misses": "misses"}


def counted_cases(material):
    """(study, P, cases by Px) of the largest problem whose runs have counted events; None if there is none. A case for each
    grid and kernel."""
    for study in material.studies:
        for rank_count in (study.shown_rank_count, *reversed(study.rank_counts)):
            cases = [case for case in study.every_case(rank_count) if events_of(case)]
            if cases:
                return study, rank_count, cases
    return None


def names_of(cases):
    """A name for each case: the grid, and the settings in which they differ."""
    name_of_settings = settings_names(cases)
    return [" ".join(part for part in (case.arrangement, name_of_settings(case)) if part) for case in cases]


def events_of(case):
    """{event: entry} of the counted events."""
    run = case.run_with("counters")
    return {event["name"]: event for event in run.document["counters"]["events"]} if run else {}


def refused_events(material):
    """{event: PAPI's reason}"""
    documents = material.run_and_solve_documents
    return {event["name"]: event["reason"] for document in documents for event in (document.get("counters") or {}).get("refused", [])}


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
    bars = []
    for case, case_name in zip(cases, names_of(cases)):
        event = events_of(case).get(name)
        values, tips = [], []
        for phase in PHASES:
            counted = event["phases"].get(phase) if event else None
            values.append(counted["mean"] / case.run_with("counters").cg_steps if counted else None)
            tips.append(event_tip(study, case, name, kind, phase, counted) if counted else "")
        bars.append(Bars(case_name, values, tips))
    up = Axis(f"{UNITS.get(kind, 'Count')} per CG step (mean over ranks)", from_zero=True)
    return BarPanel(name, Axis("Phase", "category", list(map(style.phase_name, PHASES))), up, bars)


def event_tip(study, case, name, kind, phase, counted):
    steps = case.run_with("counters").cg_steps
    least, mean, most = (f"{counted[key] / steps:,.4g}" for key in ("minimum", "mean", "maximum"))
    return (
        f"{study.name}, grid {case.arrangement}, {style.phase_name(phase)}\n"
        f"{name} per CG step: {mean} (ranks: {least} to {most})\n"
        f"total of all ranks: {counted['total']:,.6g}" + (f" {UNITS[kind]}" if kind in UNITS else "")
    )


def counters(material):
    found = counted_cases(material)
    refused = [f"{name}: {reason}" for name, reason in refused_events(material).items()]
    if found and not nonzero_events(found[2]):
        return "every event was counted 0 times"
    if not found and refused:
        return "nothing could be counted: " + "; ".join(refused)
    if not found:
        return "no run has counted events; cg2d run --papi EVENT does, cg2d events lists what can be counted"
    study, rank_count, cases = found
    cases = cases[:MOST_GRIDS]
    kinds = nonzero_events(cases)
    shown = list(kinds.items())[:MOST_EVENTS]
    never = [f"{name}: 0 in every phase" for name in all_events(cases) if name not in kinds]
    note = f"The panels show {study.name} on {ranks_text(rank_count)}, with a colour for each grid and kernel."
    left_out = [*names_of(found[2])[MOST_GRIDS:], *never, *refused, *list(kinds)[MOST_EVENTS:]]
    if any(case.run_with("counters").document["counters"].get("multiplexed") for case in cases):
        note += " Events took turns (--papi-multiplex): values are estimates."
    if left_out:
        note += f" Not shown: {'; '.join(left_out)}."
    panels = [event_panel(name, kind, study, cases) for name, kind in shown]
    return Figure(panels, note)
