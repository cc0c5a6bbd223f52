"""What the scripts have in common: options, programs that they run, and endings as one line with an exit code of sysexits.h."""

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys

from report_parts.errors import BAD_DATA, DEFECT, INTERRUPTED, UNAVAILABLE, USAGE, ReportError, defect_text


class OneLineParser(argparse.ArgumentParser):
    def error(self, message):
        raise ReportError(USAGE, f"{message}; see --help")


def end_script(main, name):
    """Runs a script's main; every ending with its exit code, and errors as one line."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = main()
        sys.stdout.flush()
    except ReportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        code = error.exit_code
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:  # the reader of the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = BAD_DATA
    except Exception as error:
        print(f"{name}: a defect of scripts/{name}: {defect_text(error)}", file=sys.stderr)
        code = DEFECT
    sys.exit(code)


def first_program(*names):
    """The path of the first program that exists."""
    return next((found for name in names if name and (found := shutil.which(name))), None)


def last_line(*texts):
    """Of the first text that has one: the reason why a program ended."""
    lines = next((text.strip().splitlines() for text in texts if text.strip()), ["no reason given"])
    return lines[-1]


def output_of(command, name="", seconds=None):
    """Standard output of a program, which must succeed. name: of the command in messages."""
    name = name or shlex.join(map(str, command))
    try:
        outcome = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReportError(UNAVAILABLE, f"{name}: {str(error).splitlines()[0]}") from None
    if outcome.returncode != 0:
        raise ReportError(BAD_DATA, f"{name} ended with code {outcome.returncode}: {last_line(outcome.stderr, outcome.stdout)}")
    return outcome.stdout
