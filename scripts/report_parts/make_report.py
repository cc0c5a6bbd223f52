"""From the files to the page: reads, asks cg2d for its verdicts, draws, writes."""

from . import comparison, page
from .common_scales import with_common_scales
from .errors import BAD_DATA, USAGE, ReportError
from .figure_table import FIGURES, Material
from .inputs import read_inputs
from .output import write_all
from .page_runs import day_of, machine_of, short_names
from .results import results_of


def chosen_rows(only):
    """only: names of figures with commas between them; empty: all."""
    known = {row.name: row for row in FIGURES}
    names = [name for name in only.split(",") if name]
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise ReportError(USAGE, f"--only: no figure {unknown!r}; there are {', '.join(known)}")
    return [row for row in FIGURES if not names or row.name in names]


def labels_of(results):
    """{path: a name that tells the sets apart}: the file, and the machine or the day where these differ."""
    names = {path: name.removesuffix(".jsonl").removesuffix(".json") for path, name in short_names(results).items()}
    labels = {}
    machines = {path: machine_of(one.runs[0].document) for path, one in results.items()}
    days = {path: day_of(one.runs[0].document)[:10] for path, one in results.items()}
    for path, name in names.items():
        told = [facts[path] for facts in (machines, days) if len(set(facts.values())) > 1]
        labels[path] = f"{name} ({', '.join(told)})" if told else name
    return labels


def compared_sets(inputs, arguments, progress):
    """Each file as a set of its own: (sets, comparisons)."""
    results = {path: results_of({path: documents}, arguments.cg2d, progress) for path, documents in inputs.run_files.items()}
    if len(results) < 2:
        raise ReportError(BAD_DATA, "--compare: takes two files of runs or sweeps, or more")
    labels = labels_of(results)
    if arguments.label:
        if len(set(arguments.label)) != len(results) or len(arguments.label) != len(results):
            raise ReportError(USAGE, f"--label: must be {len(results)} different names, one for each set that is compared")
        labels = dict(zip(results, arguments.label))
    for path, one in results.items():
        one.label = labels[path]
    found, notes = comparison.comparisons_by(arguments.cg2d, labels, progress)
    inputs.notes += notes
    return list(results.values()), found


def read_material(arguments, progress):
    inputs = read_inputs(arguments.files, progress)
    if arguments.compare:
        results, found = compared_sets(inputs, arguments, progress)
        return Material(results, inputs, found)
    results = [results_of(inputs.run_files, arguments.cg2d, progress)] if inputs.run_files else []
    return Material(results, inputs)


def figure_files(arguments, figures, progress):
    """{path: bytes} of the figures' own files, which need matplotlib."""
    if not (arguments.figures or arguments.small):
        return {}
    progress.say("starting matplotlib")
    from . import paint_files

    matplotlib = paint_files.load_matplotlib()
    files = {}
    for row, figure in figures:
        if not figure.panels:
            continue
        progress.say(f"drawing {row.name}")
        if arguments.figures:
            for kind, content in paint_files.paint(matplotlib, row.title, figure).items():
                files[arguments.figures / f"{row.name}.{kind}"] = content
        if arguments.small:
            files[arguments.small / f"{row.name}.png"] = paint_files.paint_small(matplotlib, row.title, figure)
    return files


def make_report(arguments, progress):
    """Lines for the reader. Throws ReportError."""
    rows = chosen_rows(arguments.only)
    material = read_material(arguments, progress)
    progress.say("drawing")
    missing = [(row, why) for row in rows if (why := row.why_missing(material))]
    labels = [one.label for one in material.results if one.label]
    figures = [(row, with_common_scales(row.describe(material), labels)) for row in rows if not row.why_missing(material)]
    files = figure_files(arguments, figures, progress)
    if arguments.output.resolve() in {path.resolve() for path in files}:
        raise ReportError(USAGE, f"--output {arguments.output}: a figure has this name; name the page differently")
    files[arguments.output] = page.make_page(material, figures, missing).encode()
    write_all(files)
    where = f", as files in {arguments.figures}" if arguments.figures else ""
    lines = [f"report: {arguments.output}, {len(figures)} figures{where}"]
    lines += [f"report: {row.name} is left out: {why}" for row, why in missing]
    return lines + [f"report: {note}" for note in material.notes]
