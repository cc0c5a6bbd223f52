"""Real files of one session, one of each kind that cg2d report takes: measured once, shortly, on a small problem."""

import functools
import json
import pathlib
import tempfile

from program_runner import run_program
from report_facts import BENCH, PROFILE, real_sweep, with_counters, with_rooflines, write_lines

_FOLDER = tempfile.TemporaryDirectory(prefix="cg2d-session-")

# name of the file: ranks, words of the command
COMMANDS = {
    "run.json": (4, ("run", "--class", "S", "--grid", "2x2", "--niter", "2", "--trace", "trace.json", "--format", "json")),
    "scaling.json": (2, ("scaling", "--class", "S", "--cores", "1,2", "--repeat", "2", "--format", "json")),
    "pingpong.json": (2, ("pingpong", "--class", "S", "--sizes", "8,64kB", "--format", "json")),
    "solve.json": (2, ("solve", "--operator", "laplace3d:9x9x9", "--format", "json")),
}


@functools.cache
def session_files():
    """Paths: a sweep with runs that counted, one file of each other kind, and a trace."""
    folder = pathlib.Path(_FOLDER.name)
    sweep = real_sweep()
    grids = {document["configuration"]["grid"]["name"]: document for document in sweep}
    write_lines(folder / "sweep.jsonl", [*sweep, *with_rooflines(with_counters(list(grids.values())))])
    write_lines(folder / "later.jsonl", sweep)
    for name, (ranks, words) in COMMANDS.items():
        settled = (folder / word if word == "trace.json" else word for word in words)
        outcome = run_program(ranks, *settled, "--output", folder / name)
        assert outcome.exit_code == 0, f"no {name}: {outcome}"
    compared = run_program(0, "compare", folder / "sweep.jsonl", folder / "later.jsonl", "--format", "json")
    (folder / "compare.json").write_text(compared.stdout)
    (folder / "profile.json").write_text(json.dumps(PROFILE))
    (folder / "bench.json").write_text(json.dumps(BENCH))
    names = ["sweep.jsonl", *COMMANDS, "trace.json", "compare.json", "profile.json", "bench.json"]
    return [folder / name for name in names]
