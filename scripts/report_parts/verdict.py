"""Asks cg2d which runs are compared and which configurations are best: the report itself decides neither."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from .errors import BAD_DATA, UNAVAILABLE, ReportError
from .progress import SILENT

BUILT = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "release" / "cg2d"
SCHEMA_VERSION = 1
COMPARE_CODES = (1, 2)  # of cg2d compare: a regression, and undecided
# Reading takes milliseconds; a program that waits for a launcher must not hang the report.
LONGEST_S = 300


def find_program(named=None):
    """The program that was named, that of CG2D, the release build of these sources, or the one of the path."""
    for candidate in [named] if named else [os.environ.get("CG2D"), BUILT, "cg2d"]:
        found = shutil.which(str(candidate)) if candidate else None
        if found:
            return found
    raise ReportError(UNAVAILABLE, f"{named or 'cg2d'}: no such program; build it, or name it by --cg2d: it gives the verdicts")


def write_inputs(folder, files):
    """files: one list of (place, document) for each input. Returns {path for the program: name of the input}, and
    {its place: place}."""
    names, places = {}, {}
    for index, documents in enumerate(files):
        if not documents:
            continue
        path = pathlib.Path(folder) / f"{index}.jsonl"
        path.write_text("".join(json.dumps(document) + "\n" for _, document in documents), encoding="ascii")
        names[path] = documents[0][0].removesuffix(":1")
        places[str(path)] = documents[0][0]
        places.update({f"{path}:{number}": place for number, (place, _) in enumerate(documents, 1)})
    return names, places


def json_of(program, words, names, progress=SILENT, doing="asking for the verdicts"):
    """The JSON that the program prints. names: {path: name for messages}."""
    try:
        progress.say(doing)
        outcome = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST_S)
        answer = json.loads(outcome.stdout) if outcome.returncode == 0 or outcome.stdout and outcome.returncode in COMPARE_CODES else None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ReportError(UNAVAILABLE, f"{program}: gives no verdict: {str(error).splitlines()[0]}") from None
    if answer is None:
        reason = next(iter(outcome.stderr.strip().splitlines()[-1:]), "no reason given")
        for path, name in names.items():
            reason = reason.replace(str(path), name)
        raise ReportError(BAD_DATA, f"{program} refuses the results: {reason}")
    return answer


def verdicts_on(files, program, progress=SILENT):
    """The JSON of cg2d sweep --show, with the places of the report's inputs. files: one list of (place, document) for each."""
    with tempfile.TemporaryDirectory(prefix="cg2d-report-") as folder:
        names, places = write_inputs(folder, files)
        words = [word for path in names for word in ("--show", str(path))]
        answer = json_of(program, ["sweep", *words, "--format", "json"], names, progress)
    if answer.get("schema_version") != SCHEMA_VERSION or "replaced" not in answer:
        raise ReportError(UNAVAILABLE, f"{program}: its verdicts are of another version; build cg2d and this script together")
    for cell in (cell for row in answer["grids"] for cell in row["cells"]):
        cell["runs"] = [places[place] for place in cell["runs"]]
    for run in answer["left_out"]:
        run["place"] = places[run["place"]]
    answer["replaced"] = [places[place] for place in answer["replaced"]]
    return answer
