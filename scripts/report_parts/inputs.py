"""Sorts the files that a report is made of by their contents: a file needs no option that says its kind."""

import dataclasses
import pathlib
import typing

from . import results, trace
from .errors import BAD_DATA, ReportError
from .progress import SILENT
from .schema import schema_of
from .verdict import json_of

KNOWN = "a run, sweep, batch, scaling, pingpong, model, solve or comparison of cg2d, a tuning profile, a trace, or a result of spmv_bench or row_length_bench"


def checked(schema):
    """A reader of documents that keep to this schema of cg2d, and stay as they are."""

    def read(place, document):
        if complaint := schema_of(schema).complaint(document):
            raise ReportError(BAD_DATA, f"{place}: not as cg2d schema {schema} has it: {complaint}")
        return document

    return read


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Of two sets of results, by cg2d compare --format json: the report itself decides nothing. before, after: names of the two sets."""

    before: str
    after: str
    document: dict


def comparison_of(path, document):
    names = checked("compare")(path, document)["labels"]
    return Comparison(f"{names['before']} of {path.name}", f"{names['after']} of {path.name}", document)


def comparisons_by(program, labels, progress=SILENT):
    """labels: {path: its name on the page}. The first file against each other one. Files without a common configuration
    have none: (comparisons, notes)."""
    first, *others = labels
    comparisons, notes = [], []
    for other in others:
        names = [labels[path].replace(",", ";") for path in (first, other)]
        words = ["compare", str(first), str(other), "--format", "json", *(["--label", ",".join(names)] if names[0] != names[1] else [])]
        try:
            document = json_of(program, words, {}, progress, f"comparing {first} with {other}")
            comparisons.append(Comparison(labels[first], labels[other], comparison_of(other, document).document))
        except ReportError as error:
            notes.append(f"{first} and {other} are not compared: {error}")
    return comparisons, notes


def read_by(read, what):
    """A reader of documents that have no schema. what: they should be."""

    def checked_read(path, document):
        try:
            return read(document)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
            raise ReportError(BAD_DATA, f"{path}: not {what}") from None
        except ReportError as error:
            raise ReportError(BAD_DATA, f"{path}: {error}") from None

    return checked_read


def has(*keys):
    return lambda document: all(key in document for key in keys)


@dataclasses.dataclass(frozen=True)
class Kind:
    """name: the list of Inputs that it goes into. shows: whether a document is of the kind. read(path, document)."""

    name: str
    shows: typing.Callable
    read: typing.Callable


# The first that fits.
KINDS = (
    Kind("traces", has("traceEvents"), trace.step_of),
    Kind("profiles", has("processors"), read_by(results.profile_of, "a tuning profile of cg2d tune")),
    Kind("benches", has("benchmarks"), read_by(results.bench_of, "a result of spmv_bench or row_length_bench (--benchmark_out_format=json)")),
    Kind("scalings", has("scaling", "ways"), checked("scaling")),
    Kind("pingpongs", has("pairs", "sums"), checked("pingpong")),
    Kind("models", lambda document: has("machine", "problems")(document) and "interconnect" not in document, checked("model")),
    Kind("comparisons", has("compared", "threshold"), comparison_of),
    Kind("solves", lambda document: results.is_system(document) and "sweep" not in document, checked("solve")),
)


class Inputs:
    """run_files: {path: [(place, document)]}. batches: [(name of the file, the part "task" of each line)]. And the lists that KINDS names."""

    def __init__(self):
        self.run_files, self.notes, self.batches = {}, [], []
        for kind in KINDS:
            setattr(self, kind.name, [])

    @property
    def profile(self):
        """Of all tuning profiles; the last one that knows a processor."""
        return {name: entry for profile in self.profiles for name, entry in profile.items()} or None

    @property
    def bench(self):
        """Points of spmv_bench."""
        return [point for bench in self.benches for point in bench if "row_length" not in point] or None

    @property
    def bench_rows(self):
        """Points of row_length_bench."""
        return [point for bench in self.benches for point in bench if "row_length" in point]


def add_file(inputs, path):
    notes = []
    documents = results.documents_of(path, notes)
    first = documents[0][1]
    inputs.notes += notes
    kind = next((kind for kind in KINDS if kind.shows(first)), None) if isinstance(first, dict) else None
    if kind:
        if len(documents) > 1:
            raise ReportError(BAD_DATA, f"{path}:2: only results of runs may share a file, one per line")
        getattr(inputs, kind.name).append(kind.read(path, first))
        if first.get("status", "success") != "success":
            inputs.notes.append(f"{path}: ended with {first['status']}: {first.get('reason', '')}")
    elif isinstance(first, dict) and has("task", "result")(first):
        inputs.batches.append((path.name, [checked("batch")(place, document)["task"] for place, document in documents]))
    elif isinstance(first, dict) and has("status", "schema_version")(first) and first.keys() & {"problem", "system"}:
        inputs.run_files[path] = documents
    else:
        raise ReportError(BAD_DATA, f"{path}: not a result of cg2d with figures; {KNOWN} is needed")


def read_inputs(paths, progress=SILENT):
    """Throws ReportError for the first file that cannot be read, or is of no known kind. A file that is named twice is read
    once."""
    inputs = Inputs()
    for path in dict.fromkeys(map(pathlib.Path, paths)):
        progress.say(f"reading {path}")
        add_file(inputs, path)
    return inputs
