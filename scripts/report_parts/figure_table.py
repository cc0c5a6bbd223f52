"""All figures of the report, in the order of the page. A new figure needs a function and a row here."""

import dataclasses
import typing

from . import (
    figures_commands,
    figures_counters,
    figures_grid,
    figures_machine,
    figures_phases,
    figures_prediction,
    figures_roofline,
    figures_streaming,
)
from .inputs import Inputs
from .studies import make_studies, uncompared_notes


class Material:
    """The input of all figures. results: sets of runs; those of each set are compared with each other. Where there are several,
    the names of studies begin with that of their set."""

    def __init__(self, results: list, inputs: Inputs, comparisons=()):
        self.results = results
        self.inputs = inputs
        self.comparisons = [*inputs.comparisons, *comparisons]
        self.studies = [study for one in results for study in make_studies(one)]
        self.profile = inputs.profile
        self.bench = inputs.bench

    @property
    def runs(self):
        return [run for one in self.results for run in one.runs]

    @property
    def run_and_solve_documents(self):
        return [*(run.document for run in self.runs), *self.inputs.solves]

    @property
    def notes(self):
        """One line for each input, or run, that was not used or not compared."""
        return [*self.inputs.notes, *(note for one in self.results for note in (*one.notes, *uncompared_notes(one)))]


@dataclasses.dataclass(frozen=True)
class Row:
    """name: of its files, and of its place on the page. describe(material): the Figure, or a text, why it cannot be drawn."""

    name: str
    title: str
    describe: typing.Callable


FIGURES = (
    Row("comparison", "Sets of results side by side", figures_commands.comparisons),
    Row("time-by-grid", "Time of each grid", figures_grid.time_heat_map),
    Row("time-over-px", "Time over the number of process columns", figures_grid.u_curve),
    Row("phases-by-grid", "Phases on each grid", figures_phases.stacked_phases),
    Row("prediction", "Predicted and measured times", figures_prediction.prediction),
    Row("settings", "Kernels, transports and forms of the sum", figures_grid.settings),
    Row("scaling", "Speed-up and efficiency", figures_grid.scaling),
    Row("rank-plane", "Per-rank times on the process grid", figures_phases.rank_plane),
    Row("rank-speeds", "Ranks of different speed", figures_phases.speeds),
    Row("counters", "Counted events in each phase", figures_counters.counters),
    Row("row-length", "Time per nonzero over the row length", figures_machine.row_lengths),
    Row("bench-row-length", "Benchmark over the row length", figures_machine.bench_rows),
    Row("roofline", "Roofline", figures_roofline.roofline),
    Row("storage", "Speed of each storage format", figures_roofline.storage),
    Row("convergence", "Convergence of zeta and of the residual", figures_grid.convergence),
    Row("repeats", "Repetitions", figures_grid.repeats),
    Row("streaming", "Out-of-core runs: time over the memory limit", figures_streaming.streaming),
    Row("ways", "Ranks or threads", figures_commands.ways),
    Row("batch", "Tasks of a batch", figures_commands.batch),
    Row("system-ways", "Scaling of a solve", figures_commands.system_ways),
    Row("messages", "Messages between ranks", figures_machine.pingpong),
    Row("model", "Predicted time of each grid", figures_prediction.models),
    Row("kernels", "Kernels of the tuning profile", figures_machine.kernels),
    Row("solves", "Solved systems", figures_commands.solves),
)
