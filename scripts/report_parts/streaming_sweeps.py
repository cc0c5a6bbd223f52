"""Results of matrices on local storage, sorted by what they computed and by their memory limits."""

import dataclasses
import statistics

from .figures_grid import ranks_text

# Of a configuration: names say what is different.
USUAL = {
    "transport": "two-sided", "sum_form": "reduce-scatter", "threads": 1, "overlap": False, "reproducible": False,
    "ranks_per_node": 0,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Way:
    """What the times of one line have in common: problem and machine, and how it was computed."""

    label: str  # of the set of results
    problem: str
    machine: str
    ranks: int
    arrangement: str
    kernel: str
    unusual: str  # of the other choices

    @property
    def name(self):
        return ", ".join(filter(None, (ranks_text(self.ranks), self.arrangement, self.kernel, self.unusual)))

    @property
    def panel_name(self):
        return f"{self.label}: {self.problem}" if self.label else self.problem


@dataclasses.dataclass(frozen=True)
class Timed:
    """One result: all of its times, and its streaming, None for a matrix in memory."""

    times_s: list
    document: dict

    @property
    def stream(self):
        return self.document.get("out_of_core")

    @property
    def median_s(self):
        return statistics.median_low(self.times_s)


def machine_of(document):
    nodes = document["environment"]["nodes"]
    return f"{len(nodes)} x {nodes[0]['processor']}"


def choice_text(key, value):
    return value if isinstance(value, str) else key if value is True else f"{key.replace('_', ' ')} {value}"


def way_of(document, label, problem, arrangement):
    configuration = document["configuration"]
    chosen = {key: configuration.get(key, usual) for key, usual in USUAL.items()}
    if configuration.get("transport_by") == "built-in rule":
        chosen["transport"] = USUAL["transport"]
    unusual = ", ".join(choice_text(key, value) for key, value in chosen.items() if value != USUAL[key])
    return Way(label, problem, machine_of(document), configuration["ranks"], arrangement, configuration["kernel"], unusual)


def timed_runs(material):
    """[(way, timed)] of the runs of the benchmark whose times are compared."""
    for study in material.studies:
        name = study.name.removeprefix(f"{study.label}: ")
        for rank_count, rows in study.tables.items():
            compared = {place for row in rows for cell in row["cells"] if cell["times"] for place in cell["runs"]}
            for run in (run for case in study.every_case(rank_count) for run in case.runs if run.source in compared):
                yield way_of(run.document, study.label, name, run.arrangement), Timed(run.times_s, run.document)


def solve_name(document):
    """Of what was computed: solves of the same name do the same work."""
    system, result = document["system"], document["result"]
    count = len(result.get("right_hand_sides", [])) or 1
    parts = [system["matrix"].rpartition("/")[2], f"n {document['setup']['n']}", f"{result['iterations']} iterations"]
    parts += [system[key] for key, usual in (("preconditioner", "none"), ("variant", "classic")) if system[key] != usual]
    return ", ".join(parts + ([f"{count} right-hand sides"] if count > 1 else []))


def timed_solves(material):
    """The same of cg2d solve."""
    for study in material.inputs.solves:
        document = study.document
        if document["status"] == "success" and document["system"]["is_assembled"] and document["result"]["time_s"] > 0:
            way = way_of(document, "", solve_name(document), document["configuration"]["grid"]["name"])
            yield way, Timed([document["result"]["time_s"]], document)


class Sweep:
    """The results of one way. limits: those by their memory limits, {bytes: [Timed]}, growing; without those that had no limit, or
    whose program did not note it. in_memory: those without storage."""

    def __init__(self, way):
        self.way = way
        self.limits, self.in_memory = {}, []

    def add(self, timed):
        if not timed.stream:
            self.in_memory.append(timed)
        elif limit := timed.stream["memory_limit_bytes"]:
            self.limits = dict(sorted({**self.limits, limit: [*self.limits.get(limit, []), timed]}.items()))

    @property
    def in_memory_s(self):
        return median_of(self.in_memory) if self.in_memory else None

    def bound(self, key):
        """The median of a limit that the runs name; None where none does: nothing was streamed."""
        values = [timed.stream[key] for found in self.limits.values() for timed in found if timed.stream[key]]
        return statistics.median_low(values) if values else None


def times_of(found):
    return [time_s for timed in found for time_s in timed.times_s]


def median_of(found):
    return statistics.median_low(times_of(found))


def typical(found):
    """The result whose time is nearest to the median of all."""
    median_s = median_of(found)
    return min(found, key=lambda timed: abs(timed.median_s - median_s))


def sweeps(material):
    """[Sweep] of the ways that were streamed with several limits."""
    found = {}
    for way, timed in (*timed_runs(material), *timed_solves(material)):
        found.setdefault(way, Sweep(way)).add(timed)
    return [sweep for sweep in found.values() if len(sweep.limits) > 1]


class Facts:
    """What one streamed result says of its storage, all ranks together; rates and shares are None where no product was timed."""

    def __init__(self, timed):
        stream = timed.stream
        ranks = [rank for rank in stream["ranks"] if rank["products"] and rank["product_s"]]
        nodes = len(timed.document["environment"]["nodes"])
        self.file_bytes = sum(rank["file_bytes"] for rank in stream["ranks"])
        stays = sum(rank["file_bytes"] * rank["resident_panels"] / rank["panels"] for rank in stream["ranks"])
        self.stays = stays / self.file_bytes if self.file_bytes else None
        self.limit_share = nodes * (stream["memory_limit_bytes"] or 0) / self.file_bytes if self.file_bytes else None
        self.product_bytes = sum(rank["read_bytes"] / rank["products"] for rank in ranks)
        self.bytes_per_s = sum(rank["read_bytes"] / rank["product_s"] for rank in ranks)
        self.storage_bytes_per_s = sum(rank["storage_bytes_per_s"] for rank in stream["ranks"])
        self.waited = max((rank["wait_s"] / rank["product_s"] for rank in ranks), default=None)
