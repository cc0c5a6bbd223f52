"""Figures of the events counted in each phase (--papi)."""

from . import style
from .figures_grid import ranks_text, settings_names
from .panels import Axis, BarPanel, Bars, Figure
from .results import PHASES

# One panel for each event; further events are left out.
MOST_EVENTS = 6
MOST_GRIDS = 8

UNITS = {"nanoseconds": "ns", "core cycles": "core cycles", "reference cycles": "reference cycles", "misses": "misses"}


def events_of(case):
    """{event: entry} of the counted events."""
    run = case.run_with("counters")
    return {event["name"]: event for event in run.document["counters"]["events"]} if run else {}


def names_of(cases):
    """A name for each case: the grid, and the settings in which they differ."""
    name_of_settings = settings_names(cases)
    return [" ".join(filter(None, (case.arrangement, name_of_settings(case)))) for case in cases]


def occurs(event):
    return any(event["phases"].get(phase, {}).get("total") for phase in PHASES)


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
    """Of the largest problem whose runs have counted events. A case for each grid and kernel."""
    refused = [
        f"{event['name']}: {event['reason']}"
        for document in material.run_and_solve_documents
        for event in (document.get("counters") or {}).get("refused", [])
    ]
    found = next(((study, *with_events) for study in material.studies if (with_events := study.shown_with(events_of))), None)
    if not found:
        words = "no run has counted events; cg2d run --papi EVENT does, cg2d events lists what can be counted"
        return "nothing could be counted: " + "; ".join(dict.fromkeys(refused)) if refused else words
    study, rank_count, every_case = found
    cases = every_case[:MOST_GRIDS]
    kinds = {name: event["kind"] for case in cases for name, event in events_of(case).items()}
    happened = [name for name in kinds if any(name in events_of(case) and occurs(events_of(case)[name]) for case in cases)]
    if not happened:
        return "every event was counted 0 times"
    never = [f"{name}: 0 in every phase" for name in kinds if name not in happened]
    left_out = [*names_of(every_case)[MOST_GRIDS:], *never, *dict.fromkeys(refused), *happened[MOST_EVENTS:]]
    note = f"The panels show {study.name} on {ranks_text(rank_count)}, with a colour for each grid and kernel."
    if any(case.run_with("counters").document["counters"].get("multiplexed") for case in cases):
        note += " Events took turns (--papi-multiplex): values are estimates."
    note += f" Not shown: {'; '.join(left_out)}." if left_out else ""
    return Figure([event_panel(name, kinds[name], study, cases) for name in happened[:MOST_EVENTS]], note)
