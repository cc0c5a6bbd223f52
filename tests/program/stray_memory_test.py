"""Memory that ranks share is freed with them, however they end: no name in /dev/shm, no process that holds it."""

import os
import pathlib
import signal

from program_runner import CACHE_FOLDER, MEMORY, SUCCESS, BackgroundRun, ProgramTest, comes_true, start_program


def names():
    """Names in shared memory, except those that MPI and clang's OpenMP library leave there."""
    others = ("mpich", "ucx", "__KMP_REGISTERED_LIB")
    return {path.name for path in pathlib.Path("/dev/shm").iterdir() if not any(word in path.name for word in others)}


def holders():
    """Processes of this test that have memory of cg2d's open or mapped."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            is_mine = CACHE_FOLDER.name.encode() in (process / "environ").read_bytes()
            maps = (process / "maps").read_text()
        except OSError:  # it ended meanwhile, or is not ours
            continue
        if is_mine and "memfd:cg2d" in maps:
            found.append(int(process.name))
    return found


class StrayMemory(ProgramTest):
    def setUp(self):
        self.before = names()

    def expect_nothing_left(self):
        comes_true(lambda: not holders(), 10.0)  # killed ones take a moment to go
        self.assertEqual(holders(), [])
        self.assertEqual(names() - self.before, set())

    def test_success(self):
        for transport in ("two-sided", "shared", "put"):
            self.ends_with(SUCCESS, start_program(3, "run", "--class", "S", "--transport", transport, "--no-profile"))
            self.expect_nothing_left()

    def test_error(self):
        self.ends_with(MEMORY, start_program(2, "run", "--class", "S", "--transport", "shared", "--memory-limit", "1MB", "--no-profile"))
        self.expect_nothing_left()

    def test_killed(self):
        for transport in ("shared", "put"):
            with BackgroundRun(3, "run", "--class", "A", "--grid", "1x3", "--niter", "1000000", "--reference", "17",
                               "--transport", transport, "--no-profile") as run:
                run.wait_for(r"outer iteration [2-9]/")
                ranks = run.ranks()
                self.assertEqual(len(ranks), 3)
                self.assertEqual(set(ranks) - set(holders()), set())  # the test can find such memory
                os.kill(ranks[1], signal.SIGKILL)
                self.assertNotEqual(run.finish().exit_code, SUCCESS)
            self.expect_nothing_left()
