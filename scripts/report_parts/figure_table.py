"""All figures of the report, in the order of the page. A new figure needs a function and a row here."""

import dataclasses
import typing

from . import figures_counters, figures_grid, figures_machine, figures_phases, figures_prediction, figures_roofline, figures_run
from .results import Results
from .studies import make_studies


class Material:
    """The input of all figures."""

    def __init__(self, results: Results):
        self.studies = make_studies(results)
        self.profile = results.profile
        self.bench = results.bench


@dataclasses.dataclass(frozen=True)
class Row:
    """name: of its files, and of its place on the page. needs: the data it uses. why_missing(material): the reason why it
    cannot be drawn; empty if it can. describe(material): its panels."""

    name: str
    title: str
    needs: str
    why_missing: typing.Callable
    describe: typing.Callable


FIGURES = (
    Row(
        "time-by-grid", "Time over P × Px", "several grids of one number of ranks",
        figures_grid.why_no_grids, figures_grid.time_heat_map,
    ),
    Row(
        "time-over-px", "Time over the process columns", "several grids of one number of ranks",
        figures_grid.why_no_grids, figures_grid.u_curve,
    ),
    Row(
        "phases-by-grid", "Phases of each grid", "runs with phase times",
        figures_phases.why_no_phases, figures_phases.stacked_phases,
    ),
    Row(
        "prediction", "Predicted against measured", "runs with a prediction of the model",
        figures_prediction.why_no_prediction, figures_prediction.prediction,
    ),
    Row(
        "settings", "Kernels, transports and forms of the sum", "several of them on one grid",
        figures_grid.why_no_settings, figures_grid.settings,
    ),
    Row(
        "scaling", "Speed-up and efficiency", "several numbers of ranks",
        figures_grid.why_no_scaling, figures_grid.scaling,
    ),
    Row(
        "rank-plane", "Ranks on their plane", "a run on several ranks with phase times",
        figures_phases.why_no_plane, figures_phases.rank_plane,
    ),
    Row(
        "counters", "Events counted in each phase", "runs with counters",
        figures_counters.why_no_counters, figures_counters.counters,
    ),
    Row(
        "row-length", "Time per nonzero over the row length", "a tuning profile",
        figures_machine.why_no_row_lengths, figures_machine.row_lengths,
    ),
    Row(
        "roofline", "Roofline", "runs with --roofline, or a result of spmv_bench",
        figures_roofline.why_no_roofline, figures_roofline.roofline,
    ),
    Row(
        "machines", "Machines side by side", "runs of class B",
        figures_machine.why_no_machines, figures_machine.machines,
    ),
    Row(
        "convergence", "Convergence of zeta and of the residual", "runs with outer steps",
        figures_run.why_no_convergence, figures_run.convergence,
    ),
    Row(
        "repeats", "Repeats", "configurations that ran more than once",
        figures_run.why_no_repeats, figures_run.repeats,
    ),
)  # fmt: skip
