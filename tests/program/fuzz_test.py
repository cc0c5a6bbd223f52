"""Mutated files for cg2d report: whatever they are, its package ends with a code of the manual and at most one line, without a traceback,
and changes no file that it refuses. (The readers of the program itself: tests/fuzz.)

    python3 tests/program/fuzz_test.py --files 1000 --seed 7

Everything follows from the seed; a failure names the number of its case, and --only NAME repeats it alone.
"""

import argparse
import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
from unittest import mock

from markdown_files import documents
from program_runner import DEFECT, PROGRAM, SUCCESS, USAGE, run_program
from report_facts import BENCH, PROFILE, real_sweep, with_counters, with_predictions, with_rooflines

from report_parts.__main__ import PAGE_MADE
from report_parts.__main__ import main as report_main
from report_parts.figure_table import FIGURES


def documented_codes():
    rows = [row for table in documents()["cg/commands/README.md"].tables if table.head() == "code" for row in table.body()]
    codes = {int(row[0]) for row in rows}
    assert {0, USAGE, DEFECT} <= codes
    return codes - {DEFECT}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


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


# ---------------------------------------------------------------- cg2d report's package, in this process: it takes long to start


class Complaint(Exception):
    """What is wrong with an end."""


def material():
    """{kind: its documents}"""
    counted = with_rooflines(with_counters(with_predictions(real_sweep()[:3])))
    single = {key: value for key, value in counted[0].items() if key != "sweep"}
    solve = run_program(0, "solve", "--operator", "laplace2d:9x9", "--roofline", "--format", "json").document()
    return {"result": [single], "sweep": counted, "solve": [solve], "profile": [PROFILE], "bench": [BENCH]}


def check(draw, kind, of_kinds):
    data = mutation_of(draw, of_kinds[kind], is_lines=kind == "sweep")
    with tempfile.TemporaryDirectory(prefix="cg2d-fuzz-") as path:
        folder = pathlib.Path(path)
        (folder / "mutated").write_bytes(data)
        (folder / "sweep").write_text("".join(json.dumps(document) + "\n" for document in of_kinds["sweep"]))
        inputs = ["mutated"] if kind in ("result", "sweep", "solve") else ["sweep", "mutated"]
        words = ["--cg2d", PROGRAM, "--output", str(folder / "page.html"), "--progress", "terminal"]
        words += ["--only", draw.choice([row.name for row in FIGURES]), "--figures", str(folder / "figures")]
        check_report([*words, "--", *(str(folder / file) for file in inputs)], folder)


def check_report(words, folder):
    before = contents(folder)
    said = io.StringIO()
    with mock.patch.object(sys, "argv", ["cg2d report", *words]), contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            code = report_main()
        except SystemExit as end:
            code = end.code
    if code == PAGE_MADE:
        return
    if code not in documented_codes() - {SUCCESS} or len(said.getvalue().splitlines()) != 1:
        raise Complaint(f"report ends with {code}: {words}\n{said.getvalue()[-1000:]}")
    if contents(folder) != before:
        raise Complaint(f"report refuses, and changes files: {words}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=10, help="mutated files of each kind")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", help="the name of one case, such as 'profile 17'")
    options = parser.parse_args()
    of_kinds = material()
    cases = {f"{kind} {number}": kind for kind in of_kinds for number in range(options.files)}
    found = 0
    for name, kind in cases.items():
        if options.only in (None, name):
            try:
                check(random.Random(f"{options.seed} {name}"), kind, of_kinds)
            except Complaint as complaint:
                found += 1
                print(f"{name}: {complaint}", flush=True)
    print(f"{len(cases)} ends of cg2d report, {found} of them wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
