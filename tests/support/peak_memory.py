"""Starts a program as one rank, and writes the peak of its resident memory: peak_memory.py FOLDER PROGRAM ARGUMENT...

The number of bytes (ru_maxrss, getrusage(2)) goes into a file of FOLDER; the exit code is that of the program.
"""

import os
import pathlib
import sys

process = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(process, 0)
pathlib.Path(sys.argv[1], str(os.getpid())).write_text(str(1024 * usage.ru_maxrss))
if os.WIFSIGNALED(status):
    os.kill(os.getpid(), os.WTERMSIG(status))
sys.exit(os.waitstatus_to_exitcode(status))
