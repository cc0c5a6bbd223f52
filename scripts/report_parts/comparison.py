"""Comparisons of two sets of results, by cg2d compare --format json: the report itself decides nothing."""

import dataclasses

from .errors import BAD_DATA, ReportError
from .progress import SILENT
from .schema import schema_of
from .verdict import json_of


@dataclasses.dataclass(frozen=True)
class Comparison:
    """before, after: names of the two sets."""

    before: str
    after: str
    document: dict


def comparison_of(path, document):
    """Of a file. Throws ReportError."""
    complaint = schema_of("compare").complaint(document)
    if complaint:
        raise ReportError(BAD_DATA, f"{path}: not as cg2d schema compare has it: {complaint}")
    names = document["labels"]
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
