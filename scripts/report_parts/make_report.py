"""From the files to the page: reads, asks cg2d for its verdicts, draws, writes."""

import errno
import os
import pathlib
import sys
import tempfile

from . import page, svg_paint
from .errors import BAD_DATA, CANNOT_CREATE, CANNOT_WRITE, USAGE, ReportError
from .figure_table import FIGURES, Material
from .inputs import comparisons_by, read_inputs
from .page import short_names
from .results import results_of
from .times import set_unit, share_ranges

STANDARD_OUTPUT = pathlib.Path("-")


def chosen_rows(only):
    """only: names of figures with commas between them; empty: all."""
    known = {row.name: row for row in FIGURES}
    names = [name for name in only.split(",") if name]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ReportError(USAGE, f"--only: no figure {unknown!r}; there are {', '.join(known)}")
    return [row for row in FIGURES if not names or row.name in names]


def compared_sets(inputs, arguments, progress):
    """Each file as a set of its own: (sets, comparisons)."""
    results = {path: results_of({path: documents}, progress) for path, documents in inputs.run_files.items()}
    if len(results) < 2:
        raise ReportError(BAD_DATA, "--compare: takes two files of runs or sweeps, or more")
    labels = {path: name.removesuffix(".jsonl").removesuffix(".json") for path, name in short_names(results).items()}
    if arguments.label:
        if len(set(arguments.label)) != len(results) or len(arguments.label) != len(results):
            raise ReportError(USAGE, f"--label: must be {len(results)} different names, one for each set that is compared")
        labels = dict(zip(results, arguments.label))
    for path, one in results.items():
        one.label = labels[path]
    found, notes = comparisons_by(arguments.cg2d, labels, progress)
    inputs.notes += notes
    return list(results.values()), found


def write(path, content):
    """Whole or not at all. "-": standard output; a device or a pipe gets the bytes as they are."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = path.resolve()  # not the link is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(file.name, 0o666 & ~umask)
            os.replace(file.name, path)
        except BaseException:  # a signal, too
            pathlib.Path(file.name).unlink(missing_ok=True)
            raise


def code_of(error):
    """The exit code for an output that failed so: CANNOT_WRITE for what one that could be opened runs into while it is written."""
    return CANNOT_WRITE if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE) else CANNOT_CREATE


def write_all(files):
    """{path: bytes}. One that cannot be written takes no other along; of a folder, the first such file is named."""
    failures, code = {}, CANNOT_CREATE
    for path, content in files.items():
        try:
            write(path, content)
        except OSError as error:
            code = max(code, code_of(error))
            is_of_folder = pathlib.Path(error.filename or path) in path.parents
            failures.setdefault((path.parent, error.strerror), path.parent if is_of_folder else path)
    if failures:
        raise ReportError(code, "; ".join(f"{path}: {reason}" for (_, reason), path in failures.items()))


def make_report(arguments, progress):
    """Lines for the reader. Throws ReportError."""
    rows = chosen_rows(arguments.only)
    inputs = read_inputs(arguments.files, progress)
    if arguments.compare:
        results, comparisons = compared_sets(inputs, arguments, progress)
    else:
        results, comparisons = [results_of(inputs.run_files, progress)] if inputs.run_files else [], ()
    material = Material(results, inputs, comparisons)
    progress.say("drawing")
    described = [(row, row.describe(material)) for row in rows]
    missing = [(row, why) for row, why in described if isinstance(why, str)]
    figures = [(row, figure) for row, figure in described if not isinstance(figure, str)]
    labels = [one.label for one in material.results if one.label]
    for _, figure in figures:
        set_unit(figure)
        share_ranges(figure, labels)
    files = {}
    for row, figure in figures if arguments.figures else ():
        for number, panel in enumerate(figure.panels, 1):
            files[arguments.figures / f"{row.name}-{number}.svg"] = svg_paint.panel_file(panel).encode()
    if arguments.output.resolve() in {path.resolve() for path in files}:
        raise ReportError(USAGE, f"--output {arguments.output}: a figure has this name; name the page differently")
    files[arguments.output] = page.make_page(material, figures, missing).encode()
    write_all(files)
    where = f", as files in {arguments.figures}" if arguments.figures else ""
    lines = [f"report: {arguments.output}, {len(figures)} figures{where}"]
    lines += [f"report: {row.name} is left out: {why}" for row, why in missing]
    return lines + [f"report: {note}" for note in material.notes]
