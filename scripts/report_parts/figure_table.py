"""All figures of the report, in the order of the page. A new figure needs a function and a row here."""

import dataclasses
import typing

from . import (
    figures_batch,
    figures_comparison,
    figures_counters,
    figures_grid,
    figures_machine,
    figures_messages,
    figures_model,
    figures_phases,
    figures_prediction,
    figures_roofline,
    figures_run,
    figures_scaling,
    figures_simulation,
    figures_solves,
    figures_speeds,
    figures_storage,
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
        self.studies = [study for one in results for study in self.named_studies(one)]
        self.profile = inputs.profile
        self.bench = inputs.bench

    @staticmethod
    def named_studies(one):
        studies = make_studies(one)
        for study in studies:
            study.label = one.label
            study.name = f"{one.label}: {study.name}" if one.label else study.name
        return studies

    @property
    def runs(self):
        return [run for one in self.results for run in one.runs]

    @property
    def notes(self):
        """One line for each input, or run, that was not used or not compared."""
        return [*self.inputs.notes, *(note for one in self.results for note in (*one.notes, *uncompared_notes(one)))]


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
        "comparison", "Sets of results side by side", "a comparison, or --compare",
        figures_comparison.why_no_comparisons, figures_comparison.comparisons,
    ),
    Row(
        "time-by-grid", "Time of each grid", "several grids of one number of ranks",
        figures_grid.why_no_grids, figures_grid.time_heat_map,
    ),
    Row(
        "time-over-px", "Time over the number of process columns", "several grids of one number of ranks",
        figures_grid.why_no_grids, figures_grid.u_curve,
    ),
    Row(
        "phases-by-grid", "Phases on each grid", "runs with phase times",
        figures_phases.why_no_phases, figures_phases.stacked_phases,
    ),
    Row(
        "prediction", "Predicted and measured times", "runs with a prediction of the model",
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
        "rank-plane", "Per-rank times on the process grid", "a run on several ranks with phase times",
        figures_phases.why_no_plane, figures_phases.rank_plane,
    ),
    Row(
        "rank-speeds", "Ranks of different speed", "a run with --cut speed, --cut file:FILE or --slow-rank, or that --rebalance repartitioned",
        figures_speeds.why_no_speeds, figures_speeds.speeds,
    ),
    Row(
        "counters", "Counted events in each phase", "runs with counters",
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
        "storage", "Speed of each storage format", "runs of several kernels with --roofline",
        figures_storage.why_no_storage, figures_storage.storage,
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
        "repeats", "Repetitions", "configurations that ran more than once",
        figures_run.why_no_repeats, figures_run.repeats,
    ),
    Row(
        "streaming", "Out-of-core runs: time over the memory limit", "--out-of-core with several memory limits",
        figures_streaming.why_no_streaming, figures_streaming.streaming,
    ),
    Row(
        "ways", "Ranks or threads", "a result of cg2d scaling",
        figures_scaling.why_no_ways, figures_scaling.ways,
    ),
    Row(
        "batch", "Tasks of a batch", "the results of cg2d batch",
        figures_batch.why_no_batch, figures_batch.batch,
    ),
    Row(
        "system-ways", "Scaling of a solve", "a result of cg2d scaling of a system",
        figures_scaling.why_no_system_ways, figures_scaling.system_ways,
    ),
    Row(
        "messages", "Messages between ranks", "a result of cg2d pingpong",
        figures_messages.why_no_pingpong, figures_messages.pingpong,
    ),
    Row(
        "model", "Predicted time of each grid", "a result of cg2d model",
        figures_model.why_no_models, figures_model.models,
    ),
    Row(
        "simulation", "Simulated CG steps on a shared network", "a result of cg2d simulate",
        figures_simulation.why_no_simulations, figures_simulation.simulations,
    ),
    Row(
        "paper", "The paper and the model", "a result of cg2d model --paper",
        figures_model.why_no_papers, figures_model.papers,
    ),
    Row(
        "paper-speed-up", "Speed-up in the paper and in the model", "a result of cg2d model --paper",
        figures_model.why_no_papers, figures_model.paper_speed_ups,
    ),
    Row(
        "kernels", "Kernels of the tuning profile", "a tuning profile",
        figures_machine.why_no_kernels, figures_machine.kernels,
    ),
    Row(
        "solves", "Solved systems", "a result of cg2d solve",
        figures_solves.why_no_solves, figures_solves.solves,
    ),
)  # fmt: skip
