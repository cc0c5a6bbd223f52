"""Sorts the files that a report is made of by their contents: a file needs no option that says its kind."""

import dataclasses
import pathlib
import typing

from . import comparison, results, systems, trace
from .errors import BAD_DATA, ReportError
from .progress import SILENT
from .schema import schema_of

KNOWN = "a run, sweep, batch, scaling, pingpong, model, simulation, solve or comparison of cg2d, a tuning profile, a trace, or a result of spmv_bench"


@dataclasses.dataclass(frozen=True)
class Study:
    """A document of one of cg2d's other commands, which its schema has checked."""

    source: str
    document: dict


@dataclasses.dataclass(frozen=True)
class Batch:
    """tasks: the part "task" of each line."""

    source: str
    tasks: list


def batch_of(path, documents):
    schema = schema_of("batch")
    for place, document in documents:
        if complaint := schema.complaint(document):
            raise ReportError(BAD_DATA, f"{place}: not as cg2d schema batch has it: {complaint}")
    return Batch(pathlib.Path(path).name, [document["task"] for _, document in documents])


def checked(schema):
    """A reader of documents that keep to this schema of cg2d."""

    def read(path, document):
        complaint = schema_of(schema).complaint(document)
        if complaint:
            raise ReportError(BAD_DATA, f"{path}: not as cg2d schema {schema} has it: {complaint}")
        return Study(str(path), document)

    return read


def has(*keys):
    return lambda document: all(key in document for key in keys)


def is_scaling_of_system(document):
    options = document.get("options")
    return has("scaling", "ways")(document) and isinstance(options, dict) and "system" in options


@dataclasses.dataclass(frozen=True)
class Kind:
    """name: the list of Inputs that it goes into. shows: whether a document is of the kind. read(path, document)."""

    name: str
    shows: typing.Callable
    read: typing.Callable


# The first that fits.
KINDS = (
    Kind("traces", has("traceEvents"), trace.step_of),
    Kind("profiles", has("processors"), results.profile_of),
    Kind("benches", has("benchmarks"), results.bench_of),
    Kind("system_scalings", is_scaling_of_system, checked("scaling")),
    Kind("scalings", has("scaling", "ways"), checked("scaling")),
    Kind("pingpongs", has("pairs", "sums"), checked("pingpong")),
    Kind("simulations", has("machine", "interconnect", "problems"), checked("simulate")),
    Kind("models", has("machine", "problems"), checked("model")),
    Kind("papers", has("machine", "tables"), checked("paper")),
    Kind("comparisons", has("compared", "threshold"), comparison.comparison_of),
    Kind("solves", lambda document: systems.is_system(document) and "sweep" not in document, checked("solve")),
)


@dataclasses.dataclass(frozen=True)
class Shown:
    """A document of cg2d that no figure shows: what it holds, and what shows it."""

    shows: typing.Callable
    text: str


# cg/report/result_reader.cpp has the same for the commands that read results.
SHOWN_ELSEWHERE = (
    Shown(has("conditions"), "a machine description, for cg2d model --machine"),
    Shown(has("network", "vectors"), "a machine description, for cg2d model --machine"),
    Shown(has("per_cg_step", "steps"), "a plan of messages of cg2d explain, which draws it with --format text or svg"),
    Shown(has("method", "passes"), "a result of cg2d stencil, which prints it as text without --format json"),
    Shown(has("checks", "failed"), "a result of cg2d check, which prints it as a table without --format json"),
    Shown(has("papi", "groups"), "the events of cg2d events, which prints them as a table without --format json"),
)


@dataclasses.dataclass
class Inputs:
    """run_files: {path: [(place, document)]}. The other lists are as KINDS names them."""

    run_files: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)
    batches: list = dataclasses.field(default_factory=list)
    traces: list = dataclasses.field(default_factory=list)
    profiles: list = dataclasses.field(default_factory=list)
    benches: list = dataclasses.field(default_factory=list)
    system_scalings: list = dataclasses.field(default_factory=list)
    scalings: list = dataclasses.field(default_factory=list)
    pingpongs: list = dataclasses.field(default_factory=list)
    models: list = dataclasses.field(default_factory=list)
    simulations: list = dataclasses.field(default_factory=list)
    papers: list = dataclasses.field(default_factory=list)
    comparisons: list = dataclasses.field(default_factory=list)
    solves: list = dataclasses.field(default_factory=list)

    @property
    def profile(self):
        """Of all tuning profiles; the last one that knows a processor."""
        return {name: entry for profile in self.profiles for name, entry in profile.items()} or None

    @property
    def bench(self):
        return [point for bench in self.benches for point in bench] or None


def add_file(inputs, path, progress):
    notes = []
    documents = results.documents_of(path, notes, progress)
    first = documents[0][1]
    if not isinstance(first, dict):
        raise ReportError(BAD_DATA, f"{path}: not a result of cg2d; {KNOWN} is needed")
    if has("task", "result")(first):
        inputs.batches.append(batch_of(path, documents))
        inputs.notes += notes
        return
    kind = next((kind for kind in KINDS if kind.shows(first)), None)
    shown = next((other for other in SHOWN_ELSEWHERE if other.shows(first)), None)
    if kind is None and shown is not None:
        raise ReportError(BAD_DATA, f"{path}: holds {shown.text}; it has no figures")
    if kind is None:
        if "status" not in first or "schema_version" not in first:
            raise ReportError(BAD_DATA, f"{path}: not a result of cg2d; {KNOWN} is needed")
        inputs.run_files[path] = documents
        inputs.notes += notes
        return
    if len(documents) > 1:
        raise ReportError(BAD_DATA, f"{path}:2: only results of runs may share a file, one per line")
    getattr(inputs, kind.name).append(kind.read(path, first))
    if first.get("status", "success") != "success":
        inputs.notes.append(f"{path}: ended with {first['status']}: {first.get('reason', '')}")


def read_inputs(paths, progress=SILENT):
    """Throws ReportError for the first file that cannot be read, or is of no known kind. A file that is named twice is read
    once."""
    inputs = Inputs()
    for path in dict.fromkeys(map(pathlib.Path, paths)):
        progress.say(f"reading {path}")
        add_file(inputs, path, progress)
    return inputs
