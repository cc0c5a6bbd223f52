"""Runs a command on one processor that no other test has, if there is one: on_a_core.py [--wait] COMMAND...

Two tests of several ranks on the same processors wait for each other's turns, most of the time. Ranks that share a processor sleep
while they wait, so two tests on a processor each take three quarters of the time of one after the other on both. What they do not see,
ranks that spin, is seen by tests that have the machine, and where the extent is campaign. Tests that --wait most of their time share a
processor with each other.
"""

import fcntl
import os
import pathlib
import sys
import tempfile


def take_a_core(waits):
    """The lock, held by this process and those that it starts, ends with the last of them. Tests that wait take the last processor first, the
    others the first one."""
    folder = pathlib.Path(tempfile.gettempdir()) / f"cg2d-tests-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    kind = fcntl.LOCK_SH if waits else fcntl.LOCK_EX
    for processor in sorted(os.sched_getaffinity(0), reverse=waits):
        lock = os.open(folder / str(processor), os.O_WRONLY | os.O_CREAT)
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        os.set_inheritable(lock, True)
        os.sched_setaffinity(0, [processor])
        return


if __name__ == "__main__":
    waits = sys.argv[1] == "--wait"
    if os.environ.get("CG2D_TEST_EXTENT") != "campaign":
        take_a_core(waits)
    command = sys.argv[1 + waits :]
    os.execvp(command[0], command)
