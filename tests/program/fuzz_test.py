"""Random option lines and mutated files: whatever they are, cg2d and scripts/report end with a code of the manual and at most
one line, without a signal or a traceback, and change no file that they refuse.

    python3 tests/program/fuzz_test.py --lines 10000 --files 1000 --report-files 1000 --seed 7

Everything follows from the seed; a failure names the number of its case, and --only NUMBER repeats it alone.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import io
import json
import pathlib
import random
import sys
import tempfile

from markdown_files import documents
from program_runner import DEFECT, PROGRAM, SUCCESS, USAGE, run_program, run_until_physical
from report_facts import BENCH, PROFILE, real_sweep, with_counters, with_predictions, with_rooflines

from report_parts import paint_files
from report_parts.__main__ import PAGE_MADE
from report_parts.__main__ import main as report_main
from report_parts.figure_table import FIGURES

TIMEOUT_S = 60.0


def documented_codes(of_scripts):
    """Those of the manual; some are of the scripts alone."""
    rows = [row for table in documents()["cg/commands/README.md"].tables if table.head() == "code" for row in table.body()]
    codes = {int(row[0]) for row in rows if of_scripts or not row[1].startswith("scripts:")}
    assert {0, USAGE, DEFECT} <= codes
    return codes - {DEFECT}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# ---------------------------------------------------------------- option lines

ODD = ("", " ", "-", "--", "-1", "0", "1e400", "nan", "inf", "99999999999999999999", "2147483648", "x", "\u00e4", "\udcff", "%s%n",
       "$x$", "1,", ",", "a,b", "1x", "x1", "0x0", "1x1", "2x1", "65536x65536", "auto", "rule", "none", "S", "/", "/dev/null", "1:0",
       "0:0", "-0:1", "é" * 300, "1" * 400, "0.5GB", "9e99PB", "5%", "-5%", "[", "{}", "@file", "=", "\t")  # fmt: skip
SMALL = ("1", "2", "3", "7", "16", "64", "100")
KERNELS = ("auto", "scalar", "csr-simd", "csr-short", "sell", "sell-rows", "symmetric", "symmetric-distinct",
           "symmetric-scalar", "blocks")
TRANSPORTS = ("auto", "two-sided", "native", "put", "shared")
FILES = ("result.json", "sweep.jsonl", "profile.json", "machine.json", "missing", "new", "no/folder", ".")
PROBLEM = {"--n": ("1", "2", "20", "300", "1400"), "--nonzer": ("1", "2", "7"), "--shift": ("0", "10", "-1e300"),
           "--niter": ("1", "2"), "--reference": ("0", "1", "8.6")}  # fmt: skip
CONFIGURATION = {"--sum": ("reduce-scatter", "whole-block"), "--overlap": ("on", "off"), "--transport": TRANSPORTS,
                 "--kernel": KERNELS, "--ranks-per-node": SMALL, "--threads": ("1", "2", "1024"),
                 "--bind": ("auto", "none")}  # fmt: skip
OUTPUT = {"--format": ("text", "json", "csv", "extra-p"), "--output": ("output", "output", ".", "no/folder", "/dev/full"),
          "--progress": None}  # fmt: skip
INPUT = {"--profile": FILES, "--no-profile": None, "--memory-limit": ("1", "8GB", "1kB")}
CLASSES = {"--class": ("S", "s", "U", "F")}
OPTIONS = {
    "run": {**PROBLEM, **CONFIGURATION, **OUTPUT, **INPUT, **CLASSES, "--grid": ("auto", "rule", "1x1", "1x2"), "--px": SMALL,
            "--cvl": SMALL, "--prefetch": SMALL, "--block-width": SMALL, "--export-mtx": ("new", "output"), "--repeat": ("1", "2"),
            "--no-phases": None, "--papi": ("perf::TASK-CLOCK", "x,y", ","), "--papi-multiplex": None, "--papi-strict": None,
            "--trace": ("new", "output"), "--trace-steps": SMALL, "--ranks": ("1", "6", "1000"), "--list-kernels": None,
            "--list-transports": None, "--keep-disturbed": None},
    "sweep": {**PROBLEM, **CONFIGURATION, **INPUT, "--repeat": ("1",), "--show": FILES, "--fresh": None},
    "scaling": {**PROBLEM, **INPUT, "--cores": ("1", "1,2"), "--weak": None, "--rounds": ("1",), "--kernel": KERNELS,
                "--transport": TRANSPORTS, "--cut": ("even,speed", "random:1", "file:result.json"), **OUTPUT},
    "model": {"--machine": ("cp-pacs", *FILES), **CLASSES, "--ranks": ("1", "1,2,4", "48"), "--grid": ("1x2", "2x1,1x1"),
              "--kernel": KERNELS, "--transport": TRANSPORTS, **OUTPUT},
    "pingpong": {"--pairs": ("0:1", "0:0"), "--sizes": ("8", "1kB"), "--variables": SMALL, "--methods": ("x", "send"), **CLASSES,
                 "--grid": ("1x1", "auto"), **OUTPUT},
    "compare": {"--threshold": ("5%", "0%")},
    "export": {"--format": ("csv", "extra-p"), "--output": ("output", ".", "no/folder")},
    "events": {"--x": None},
    "tune": {**CLASSES, "--grid": ("1x1",), **CONFIGURATION, **INPUT},
}  # fmt: skip
# These measure for seconds where nothing is wrong with their options: something always is.
SLOW = ("tune",)


def random_value(draw, values):
    return draw.choice(ODD if draw.random() < 0.2 else values)


def random_line(draw):
    command = draw.choice(list(OPTIONS))
    known = OPTIONS[command]
    words = [command]
    for name in draw.sample(list(known), min(len(known), draw.randrange(7))):
        words.append(name)
        if known[name] is not None and draw.random() > 0.02:
            words.append(random_value(draw, known[name]))
    words += [random_value(draw, FILES) for _ in range({"compare": 2, "export": 1}.get(command, 0))]
    if command == "run":
        if "--class" not in words:
            words += ["--n", "20", "--nonzer", "2", "--shift", "10", "--niter", "1"]
        if "F" in words or draw.random() < 0.8:
            words.append("--dry-run")
    if command in ("sweep", "scaling"):
        words += ["--n", "20", "--nonzer", "2", "--shift", "10", "--niter", "1", *(("--repeat", "1") if command == "sweep" else ())]
        if command == "sweep" and "--show" not in words:
            words += ["--output", draw.choice(("result.json", "sweep.jsonl", "machine.json", "output"))]
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        words.insert(draw.randrange(len(words) + 1), draw.choice(ODD))
    if command in SLOW:
        words += ["--no-such-option"]
    return [word for word in words if "\0" not in word]


def may_change(words, name):
    """Files that a command line that is refused may write all the same: a result that says why."""
    return name == "output" and "run" in words


# ---------------------------------------------------------------- mutated files

STRANGE = (None, True, False, -1, 0, 1, 1e308, -1e308, 1e-308, 1.5, 2**31, 2**63, 10**30, "", "$x$", "$", "\ud800", "\n", "x" * 5000,
           "</script>", "{}", [], {}, [[]], {"": {}}, [None] * 3)  # fmt: skip


def places_of(value, path=()):
    """Paths of all values within a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_of(item, (*path, key))


def changed_value(draw, value):
    if isinstance(value, (int, float)) and not isinstance(value, bool) and draw.random() < 0.5:
        return draw.choice((-value, value * 10**9, value + 1, value / 3, int(value), str(value), [value]))
    if isinstance(value, str) and draw.random() < 0.5:
        return draw.choice((value.upper(), value * 2, value[:-1], value + "$", value + "\ud800"))
    return draw.choice(STRANGE)


def mutated_document(draw, document):
    document = json.loads(json.dumps(document))
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        path = draw.choice(list(places_of(document)))
        if not path:
            document = changed_value(draw, document) if draw.random() < 0.02 else document
            continue
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        if draw.random() < 0.3:
            del parent[path[-1]]
        else:
            parent[path[-1]] = changed_value(draw, parent[path[-1]])
        if not isinstance(document, (dict, list)):
            break
    return document


def mutated_bytes(draw, text):
    data = bytearray(text.encode(errors="surrogatepass"))
    for _ in range(draw.choice((1, 1, 2, 10))):
        begin = draw.randrange(len(data) + 1)
        length = draw.choice((1, 1, 2, 10, 1000))
        kind = draw.randrange(5)
        if kind == 0:
            data[begin : begin + length] = draw.randbytes(min(length, len(data) - begin))
        elif kind == 1:
            del data[begin : begin + length]
        elif kind == 2:
            data[begin:begin] = data[begin : begin + length] * 2
        elif kind == 3:
            data[begin:begin] = draw.choice((b"[" * 100_000, b"{", b"\xff", b"\0", b"1e999", b"-", b'"', b"\\", b"\n", b"NaN"))
        else:
            del data[begin:]
    return bytes(data)


def mutation_of(draw, documents, is_lines):
    """The bytes of a file with these documents, changed."""
    documents = list(documents)
    structured = draw.random() < 0.7
    if structured:
        place = draw.randrange(len(documents))
        documents[place] = mutated_document(draw, documents[place])
    indent = None if is_lines else draw.choice((None, 1))
    text = "\n".join(json.dumps(document, indent=indent) for document in documents) + "\n"
    return text.encode() if structured else mutated_bytes(draw, text)


# ---------------------------------------------------------------- the program


class Complaint(Exception):
    """What is wrong with an end."""


def check_end(outcome, words, before, folder, codes):
    if outcome.exit_code not in codes:
        raise Complaint(f"ends with {outcome.exit_code}")
    lines = [line for line in outcome.error_lines() if not line.startswith("cg2d: warning")]
    if outcome.exit_code == USAGE and (len(lines) != 1 or not lines[0].startswith("cg2d: ")):
        raise Complaint(f"refuses with {len(lines)} lines")
    if outcome.exit_code != USAGE:
        return
    after = contents(folder)
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name) and not may_change(words, name):
            raise Complaint(f"refuses, and changes {name}")


def check_program(words, files, codes):
    """Runs the program in a folder of its own with copies of these files: {name: bytes}."""
    with tempfile.TemporaryDirectory(prefix="cg2d-fuzz-") as name:
        folder = pathlib.Path(name)
        for file_name, data in files.items():
            (folder / file_name).write_bytes(data)
        # MPI itself does not start where a network device comes or goes at that moment, as those of containers do.
        for _ in range(3):
            outcome = run_program(0, *words, cwd=folder, timeout_s=TIMEOUT_S, errors="surrogateescape")
            if "MPI_Init" not in outcome.stderr:
                break
        try:
            check_end(outcome, words, files, folder, codes)
        except Complaint as complaint:
            raise Complaint(f"{complaint}: {words!r}\n{outcome.stdout[-500:]}\n{outcome.stderr[-1500:]}") from None


# Each kind of file with the commands that read it; FILE stands for it.
READERS = {
    "result": (("export", "FILE"), ("compare", "FILE", "result.json"), ("compare", "result.json", "FILE"), ("sweep", "--show", "FILE"),
               ("sweep", "--class", "S", "--repeat", "1", "--output", "FILE")),
    "sweep": (("export", "FILE"), ("export", "--format", "extra-p", "FILE"), ("compare", "FILE", "sweep.jsonl"),
              ("sweep", "--show", "FILE"), ("sweep", "--class", "S", "--repeat", "1", "--output", "FILE")),
    "profile": (("run", "--class", "S", "--profile", "FILE"), ("run", "--class", "S", "--dry-run", "--profile", "FILE"),
                ("run", "--class", "S", "--transport", "auto", "--profile", "FILE")),
    "machine": (("model", "--class", "S,F", "--ranks", "1,2,48", "--machine", "FILE"),
                ("model", "--format", "json", "--transport", "put", "--machine", "FILE")),
}  # fmt: skip


class Material:
    """Valid files of every kind, as lists of documents."""

    def __init__(self):
        counted = with_rooflines(with_counters(with_predictions(real_sweep()[:3])))
        single = {key: value for key, value in counted[0].items() if key != "sweep"}
        # Of this processor, so that a run takes from it what it can.
        profile = self._measured("--profile", (0, "tune", "--class", "S", "--grid", "1x1"), (0, "run", "--class", "S", "--transport", "auto"))
        machine = self._measured("--machine", (2, "model", "--calibrate", "--class", "S"))
        self.documents = {"result": [single], "sweep": counted, "profile": [profile], "machine": [machine]}
        self.files = {"result.json": self.text("result"), "sweep.jsonl": self.text("sweep"), "profile.json": self.text("profile"),
                      "machine.json": self.text("machine")}  # fmt: skip

    def text(self, kind):
        return "".join(json.dumps(document) + "\n" for document in self.documents[kind]).encode()

    @staticmethod
    def _measured(option, *commands):
        """What is in the file of the option after these commands."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file.json"
            for words in commands:
                outcome = run_until_physical(*words, option, path, "--keep-disturbed")
                assert outcome.exit_code == 0, outcome
            return json.loads(path.read_text())


def cases_of(check, names, count, seed):
    """Of each name so many: what to call it, and what to call."""
    for name in names:
        for number in range(count):
            yield f"{name} {number}", functools.partial(check, random.Random(f"{seed} {name} {number}"), name)


def line_cases(count, seed, material):
    codes = documented_codes(of_scripts=False)
    return cases_of(lambda draw, _: check_program(random_line(draw), material.files, codes), ("line",), count, seed)


def file_cases(count, seed, material):
    codes = documented_codes(of_scripts=False)

    def check(draw, kind):
        data = mutation_of(draw, material.documents[kind], is_lines=kind == "sweep")
        words = ["mutated" if word == "FILE" else word for word in draw.choice(READERS[kind])]
        check_program(words, {**material.files, "mutated": data}, codes)

    return cases_of(check, READERS, count, seed)


# ---------------------------------------------------------------- cg2d report's package, in this process: it takes long to start


def report_cases(count, seed, material):
    codes = documented_codes(of_scripts=True)
    figures = [row.name for row in FIGURES]
    of_inputs = {"report result": material.documents["result"], "report sweep": material.documents["sweep"],
                 "report profile": [PROFILE], "report bench": [BENCH]}  # fmt: skip

    def check(draw, name):
        data = mutation_of(draw, of_inputs[name], is_lines=name == "report sweep")
        with tempfile.TemporaryDirectory(prefix="cg2d-fuzz-") as path:
            folder = pathlib.Path(path)
            (folder / "mutated").write_bytes(data)
            (folder / "sweep").write_bytes(material.files["sweep.jsonl"])
            inputs = ["mutated"] if name in ("report result", "report sweep") else ["sweep", "mutated"]
            words = ["--cg2d", PROGRAM, "--output", str(folder / "page.html"), "--progress", "terminal", "--only", draw.choice(figures)]
            words += ["--figures", str(folder / "figures"), "--", *(str(folder / file) for file in inputs)]
            check_report(words, folder, codes)

    return cases_of(check, of_inputs, count, seed)


def check_report(words, folder, codes):
    before = contents(folder)
    said = io.StringIO()
    arguments = sys.argv
    try:
        sys.argv = ["cg2d report", *words]
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = report_main()
    finally:
        sys.argv = arguments
        paint_files.load_matplotlib().pyplot.close("all")
    if code == PAGE_MADE:
        return
    if code not in codes - {SUCCESS} or len(said.getvalue().splitlines()) != 1:
        raise Complaint(f"report ends with {code}: {words}\n{said.getvalue()[-1000:]}")
    if contents(folder) != before:
        raise Complaint(f"report refuses, and changes files: {words}")


def complaint_of(case):
    name, check = case
    try:
        check()
    except (Complaint, AssertionError) as complaint:
        return f"{name}: {complaint}"
    return ""


def reported(texts):
    """The complaints, which are printed as they come; large numbers of cases take hours."""
    found = []
    for number, text in enumerate(texts, 1):
        if text:
            found.append(text)
            print(text, flush=True)
        if number % 500 == 0:
            print(f"{number} cases", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, default=100, help="random option lines")
    parser.add_argument("--files", type=int, default=20, help="mutated files of each kind")
    parser.add_argument("--report-files", type=int, default=10, help="the same for scripts/report, which takes longer")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", help="the name of one case, such as 'profile 17'")
    options = parser.parse_args()
    material = Material()
    cases = [*line_cases(options.lines, options.seed, material), *file_cases(options.files, options.seed, material)]
    cases_of_report = list(report_cases(options.report_files, options.seed, material))
    if options.only:
        cases, cases_of_report = ([case for case in some if case[0] == options.only] for some in (cases, cases_of_report))
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        found = reported(pool.map(complaint_of, cases))
    found += reported(map(complaint_of, cases_of_report))
    print(f"{len(cases)} ends of cg2d and {len(cases_of_report)} of scripts/report, {len(found)} of them wrong")
    return 1 if found or not cases + cases_of_report else 0


if __name__ == "__main__":
    sys.exit(main())
