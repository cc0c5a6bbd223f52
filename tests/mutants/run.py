#!/usr/bin/python3
"""Which faults do the tests find? Puts those of mutants.toml into the sources, one at a time, builds, and runs the tests.

Works in a clone of the repository's HEAD: changes that are not committed are not in it. A fault is found where a test fails that passes
without it, twice, or hangs. The tests of the fault's own room come first, then the quick ones, then the others, up to the first that finds it.
"""

import collections
import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
sys.path.insert(0, str(PROJECT / "scripts"))
from command_line import OneLineParser, end_script  # noqa: E402
from report_parts.errors import BAD_DATA, UNAVAILABLE, USAGE, ReportError  # noqa: E402

TOPS = ("cg", "comm", "kernels")
KINDS = ("bound", "count", "fence", "in-place", "order", "refusal", "rounding", "schedule", "swallowed-error", "unit", "wrong-rank")
LEAST_OF_A_ROOM = 2
FOUND, SURVIVED, NOT_BUILT, NOT_COMPILED = "found", "survived", "does not build", "not compiled here"
NOT_NEAR = "not found near its room"  # the other tests have not been run
HANG_S = 150  # faults of schedules hang; a room's tests take a minute
HUNG = "Timeout"  # ctest's word; nothing else takes so long
UNCHANGED = "(unchanged)"
OWN_TEST = "mutants_test"  # it looks for the text that the fault has replaced


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    kind: str
    old: str
    new: str
    harm: str
    source: pathlib.PurePath = None  # a path from the top of the repository, of a fault that has its place

    @property
    def room(self):
        """The source's folder, also within another room."""
        return str(self.source.parent)


# ---------------------------------------------------------------- the list


def read_faults(path):
    """Throws ReportError for a list that is none."""
    try:
        import tomllib

        return [Fault(**row, source=None) for row in tomllib.loads(path.read_text())["mutant"]]
    except ModuleNotFoundError:
        raise ReportError(UNAVAILABLE, "needs Python 3.11 or later") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(BAD_DATA, f"{path}: {error}") from None


def sources_in(root):
    """Path from the root -> text."""
    files = [file for top in TOPS for suffix in (".cpp", ".hpp") for file in sorted((root / top).rglob("*" + suffix))]
    return {file.relative_to(root): file.read_text() for file in files}


def place(faults, root):
    """The faults that stand in one place, and a line about each other one."""
    placed, complaints = [], []
    sources = sources_in(root)
    for fault in faults:
        counts = {source: text.count(fault.old) for source, text in sources.items() if fault.old in text}
        if sum(counts.values()) == 1:
            placed.append(dataclasses.replace(fault, source=next(iter(counts))))
        else:
            first_line = fault.old.strip().splitlines()[0]
            complaints.append(f"{fault.name}: stands {sum(counts.values())} times in {', '.join(TOPS)}, must stand once: {first_line}")
    return placed, complaints


def complaints_about(faults, placed, root):
    """Complaints about names, kinds, changes, sentences and numbers."""
    names = collections.Counter(fault.name for fault in faults)
    complaints = [f"{name}: is there {count} times" for name, count in names.items() if count > 1]
    complaints += [f"{fault.name}: changes nothing" for fault in faults if fault.old == fault.new]
    complaints += [f"{fault.name}: kind {fault.kind} is none of {', '.join(KINDS)}" for fault in faults if fault.kind not in KINDS]
    complaints += [f"{fault.name}: its harm is no sentence" for fault in faults if not fault.harm.endswith(".")]
    counts = collections.Counter(one.room for one in placed)
    poor = {str(source.parent) for source in sources_in(root) if source.suffix == ".cpp" and counts[str(source.parent)] < LEAST_OF_A_ROOM}
    return complaints + [f"{room}: has {counts[room]} faults, must have at least {LEAST_OF_A_ROOM}" for room in sorted(poor)]


def chosen_of(placed, names, rooms):
    for what, wanted, known in (("--only", names, {one.name for one in placed}), ("--rooms", rooms, {one.room for one in placed})):
        if unknown := [name for name in wanted if name not in known]:
            raise ReportError(USAGE, f"{what} {unknown[0]}: unknown (--list tells all)")
    return [one for one in placed if (not names or one.name in names) and (not rooms or one.room in rooms)]


# ---------------------------------------------------------------- one build folder, and its tests


def run_logged(words, log, environment=None):
    """Runs a command line with its output in a log, and leaves none of its processes. Returns the exit code and the output."""
    with log.open("w+") as file:
        process = subprocess.Popen([str(word) for word in words], stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                                   env={**os.environ, **(environment or {})})  # fmt: skip
        try:
            code = process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        file.seek(0)
        return code, file.read()


class Laboratory:
    """A clone with a build folder that is kept. One fault at a time is in its sources."""

    def __init__(self, root, folder, jobs, thorough, near, definitions):
        self.root, self.clone, self.jobs, self.thorough, self.near = root, folder, jobs, thorough, near
        self.build_folder = folder / "build" / "release"
        self.log = folder / "build" / "mutants.log"
        self.definitions = definitions
        self.unreliable = [OWN_TEST]  # fail without a fault
        self.commit = self.git("rev-parse", "HEAD", where=root)

    def git(self, *words, where=None):
        outcome = subprocess.run(["git", "-C", where or self.clone, *words], capture_output=True, text=True)
        if outcome.returncode != 0:
            raise ReportError(UNAVAILABLE, f"git {' '.join(map(str, words))}: {outcome.stderr.strip()}")
        return outcome.stdout.strip()

    def prepare(self):
        """The clone has the commit, and the build folder is configured."""
        if not (self.clone / ".git").exists():
            self.git("clone", "--quiet", "--no-checkout", self.root, self.clone, where=self.root)
        for line in self.git("ls-files", "-v").splitlines():
            if line[0].islower():  # an earlier start was ended with a fault in it
                self.git("update-index", "--no-assume-unchanged", line[2:])
        self.git("fetch", "--quiet", "origin", "HEAD")
        self.git("checkout", "--quiet", "--force", "--detach", self.commit)
        self.build_folder.mkdir(parents=True, exist_ok=True)
        code, output = run_logged(["cmake", "-S", self.clone, "--preset", "release", *self.cmake_options()], self.log)
        if code != 0:
            raise ReportError(UNAVAILABLE, f"cannot configure ({self.log}): {output.strip().splitlines()[-1]}")
        self.labels = set(re.findall(r"^  (\S+)$", self.ctest("--print-labels")[1], re.MULTILINE))

    def cmake_options(self):
        """As scripts/test has them, for MPICH where it has names of its own. Later definitions override earlier ones."""
        options = ["-DCG2D_BUILD_TESTS=ON", "-DCG2D_BUILD_BENCH=OFF", "-DCG2D_WARNINGS_AS_ERRORS=ON", f"-DCG2D_TEST_SECONDS={HANG_S}"]
        programs = {"MPI_CXX_COMPILER": "mpicxx.mpich", "MPIEXEC_EXECUTABLE": "mpiexec.mpich", "CMAKE_CXX_COMPILER_LAUNCHER": "ccache"}
        options += [f"-D{name}={path}" for name, program in programs.items() if (path := shutil.which(program))]
        return options + [f"-D{definition}" for definition in self.definitions]

    def ctest(self, *words):
        extent = {"CG2D_TEST_EXTENT": "thorough"} if self.thorough else {}
        return run_logged(["ctest", "--test-dir", self.build_folder, "--no-tests=ignore", *words], self.log, extent)

    def build(self, target):
        """Empty, or the compiler's first complaint."""
        code, output = run_logged(["cmake", "--build", self.build_folder, "--parallel", self.jobs, "--target", target], self.log)
        if code == 0:
            return ""
        return next((line for line in output.splitlines() if "error" in line), output.strip().splitlines()[-1])

    def stages(self, room):
        """(target, options of ctest) from the tests that are nearest to a room to all others, or without these."""
        label = pathlib.PurePath(room).parts[:2][-1]  # tests of cg/run/guard are those of cg/run
        left_out = [] if self.thorough else ["^thorough$"]
        done = []
        others = [] if self.near else [("", "all" if self.thorough else "default_tests")]
        for stage, target in [(label, f"{label}_tests"), ("quick", "quick_tests"), *others]:
            if stage and stage not in self.labels:
                continue
            without = "|".join(left_out + done)
            yield target, [*(["-L", f"^{stage}$"] if stage else []), *(["-LE", without] if without else [])]
            done.append(f"^{stage}$")

    def without(self, tests):
        return ["-E", f"^({'|'.join(map(re.escape, tests))})$"]

    def failing_without_a_fault(self):
        """Builds the unchanged sources, and runs all tests; the names of those that fail twice."""
        for target in ("default_tests", *(["all"] if self.thorough else [])):
            if complaint := self.build(target):
                raise ReportError(UNAVAILABLE, f"the unchanged sources do not build ({self.log}): {complaint}")
        code, output = self.ctest("-j", self.jobs, *([] if self.thorough else ["-LE", "^thorough$"]), *self.without([OWN_TEST]))
        return [test for test in self.failed(code, output) if self.fails(test)]

    def failed(self, code, output):
        """{name: "Failed", "Timeout", ...} below ctest's line "The following tests FAILED:"."""
        names = dict(re.findall(r"^\s*\d+ - (\S+) \((.+)\)$", output.partition("The following tests FAILED:")[2], re.MULTILINE))
        if code != 0 and not names:
            raise ReportError(UNAVAILABLE, f"ctest ends with code {code} ({self.log})")
        return names if code else {}

    def fails(self, test):
        """Once more, by itself."""
        return self.ctest("-R", f"^{re.escape(test)}$")[0] != 0

    def finding_test(self, options):
        """(the first test that fails twice, or "", and those that failed once)."""
        failed_once = []
        while True:
            code, output = self.ctest("-j", self.jobs, "--stop-on-failure", *options, *self.without(self.unreliable + failed_once))
            failed = self.failed(code, output)
            if not failed:
                return "", failed_once
            for test, how in failed.items():
                if how == HUNG or self.fails(test):
                    return test, failed_once
                failed_once.append(test)

    def is_compiled(self, source):
        """Whether this build takes the source, which may be for another library."""
        lists = [self.build_folder / "compile_commands.json", *self.build_folder.rglob("Unity/unity_*.cxx")]
        return source.suffix == ".hpp" or any(str(self.clone / source) in file.read_text() for file in lists)

    def look_for(self, placed):
        """What becomes of a fault, as a row of the results."""
        if not self.is_compiled(placed.source):
            return {"state": NOT_COMPILED}
        path = self.clone / placed.source
        sound = path.read_text()
        if sound.count(placed.old) != 1:
            raise ReportError(BAD_DATA, f"{placed.name}: its place is not committed")
        self.git("update-index", "--assume-unchanged", placed.source)  # builds tell whether the work tree is changed
        path.write_text(sound.replace(placed.old, placed.new))
        try:
            return self.look_in_stages(placed.room)
        finally:
            path.write_text(sound)
            self.git("update-index", "--no-assume-unchanged", placed.source)

    def look_in_stages(self, room):
        row = {"state": NOT_NEAR if self.near else SURVIVED, "test": "", "stage": "", "failed_once": [], "build_s": 0.0, "test_s": 0.0}
        for target, options in self.stages(room):
            begin = time.monotonic()
            complaint = self.build(target)
            built = time.monotonic()
            row["build_s"] += round(built - begin, 1)
            if complaint:
                return {**row, "state": NOT_BUILT, "stage": target, "test": complaint}
            test, failed_once = self.finding_test(options)
            row["test_s"] += round(time.monotonic() - built, 1)
            row["failed_once"] += failed_once
            if test:
                return {**row, "state": FOUND, "stage": target, "test": test}
        return row


# ---------------------------------------------------------------- results


class Results:
    """Rows by the fault's name; with a file, those of earlier starts, too."""

    def __init__(self, path, commit, extent):
        self.path, self.origin, self.rows = path, {"commit": commit, "extent": extent}, {}
        if path is None or not path.exists():
            return
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if {key: row[key] for key in self.origin} != self.origin:
                raise ReportError(USAGE, f"--results {path}: is of commit {row['commit']}, {row['extent']} tests; name another file")
            self.rows[row["name"]] = row

    def add(self, row):
        row = {**self.origin, **row}
        self.rows[row["name"]] = row
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")


def table(placed, rows):
    """A line for each room, then those that no test found."""
    lines = [f"{'room':<20} {'found':>6} {'of':>4}"]
    made = [one for one in placed if one.name in rows]
    judged = [one for one in made if rows[one.name]["state"] in (FOUND, SURVIVED)]
    found = [one for one in judged if rows[one.name]["state"] == FOUND]
    for room in sorted({one.room for one in judged}):
        lines.append(f"{room:<20} {sum(one.room == room for one in found):>6} {sum(one.room == room for one in judged):>4}")
    share = f" ({100.0 * len(found) / len(judged):.1f} %)" if judged else ""
    lines.append(f"{'all':<20} {len(found):>6} {len(judged):>4}{share}")
    titles = {SURVIVED: "Not found:", NOT_NEAR: "Not found near their room:", NOT_BUILT: "Do not build:",
              NOT_COMPILED: "In sources that this build leaves out:"}  # fmt: skip
    for state, title in titles.items():
        left = [one for one in made if rows[one.name]["state"] == state]
        if left:
            lines += ["", title, *(f"  {one.name} ({one.room}, {one.kind}): {one.harm}" for one in left)]
    return "\n".join(lines)


def run_all(chosen, laboratory, results, trusted):
    laboratory.prepare()
    if not trusted and UNCHANGED not in results.rows:
        print("the unchanged sources first", flush=True)
        results.add({"name": UNCHANGED, "failing": laboratory.failing_without_a_fault()})
    failing = results.rows.get(UNCHANGED, {"failing": []})["failing"]
    laboratory.unreliable += failing
    if failing:
        print(f"fail without a fault, and count for nothing: {', '.join(failing)}", flush=True)
    for number, one in enumerate(chosen, 1):
        known = results.rows.get(one.name)
        if known and (laboratory.near or known["state"] != NOT_NEAR):
            continue
        row = laboratory.look_for(one)
        results.add({"name": one.name, "room": one.room, "kind": one.kind, **row})
        seconds = row.get("build_s", 0.0) + row.get("test_s", 0.0)
        print(f"{number} of {len(chosen)}, {one.name}: {row['state']}, {row.get('test') or '-'}, {seconds:.0f} s", flush=True)
    print(table(chosen, results.rows))


# ---------------------------------------------------------------- command line


def read_options():
    comma_list = {"type": lambda text: text.split(","), "default": []}
    parser = OneLineParser(prog="mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only look whether each fault has its one place, and each room its faults")
    parser.add_argument("--list", action="store_true", help="only tell the faults")
    parser.add_argument("--only", **comma_list, metavar="NAME,...", help="these faults")
    parser.add_argument("--rooms", **comma_list, metavar="ROOM,...", help="faults in these rooms, such as comm,cg/solver")
    parser.add_argument("--thorough", action="store_true", help="all tests, in their thorough extent; otherwise the default ones")
    parser.add_argument("--near", action="store_true", help="only the tests of the fault's room and the quick ones, in a tenth of the time; "
                        "a later start without it goes on with the faults that they do not find")  # fmt: skip
    parser.add_argument("--results", type=pathlib.Path, metavar="FILE", help="append to this file; a later start goes on there")
    parser.add_argument("--trusted", action="store_true", help="do not run the tests without a fault first: all of them pass")
    parser.add_argument("--build-dir", type=pathlib.Path, metavar="DIR", help="clone and build, kept (default: build/mutants)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="compilers and tests at a time (default: all cores)")
    parser.add_argument("-D", dest="definitions", action="append", default=[], metavar="NAME=VALUE", help="for CMake; may be repeated")
    parser.add_argument("--faults", type=pathlib.Path, default=HERE / "mutants.toml", metavar="FILE", help="another list")
    parser.add_argument("--root", type=pathlib.Path, default=PROJECT, metavar="DIR", help="another repository")
    return parser.parse_args()


def main():
    options = read_options()
    root = options.root.resolve()
    faults = read_faults(options.faults)
    placed, complaints = place(faults, root)
    if options.check:
        complaints += complaints_about(faults, placed, root)
        print("\n".join(complaints) or f"{len(faults)} faults, each in its place")
        return BAD_DATA if complaints else 0
    if complaints:
        raise ReportError(BAD_DATA, complaints[0])
    chosen = chosen_of(placed, options.only, options.rooms)
    if options.list:
        print("\n".join(f"{one.name} ({one.room}, {one.kind}): {one.harm}" for one in chosen))
        return 0
    folder = (options.build_dir or root / "build" / "mutants").resolve()
    laboratory = Laboratory(root, folder, options.jobs, options.thorough, options.near, options.definitions)
    results = Results(options.results, laboratory.commit, "thorough" if options.thorough else "default")
    run_all(chosen, laboratory, results, options.trusted)
    return 0


if __name__ == "__main__":
    end_script(main, "mutants")
