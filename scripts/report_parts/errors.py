"""Errors that end the report or a script, and their endings, with their exit codes."""

import os
import pathlib
import signal
import sys
import traceback

# Exit codes of sysexits.h, as in the other scripts.
USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, DEFECT, CANNOT_CREATE, CANNOT_WRITE, INTERRUPTED = 64, 65, 66, 69, 70, 73, 74, 75


class ReportError(Exception):
    """One line: what is wrong, where, and what would be right."""

    def __init__(self, exit_code, message):
        super().__init__(message)
        self.exit_code = exit_code


def defect_text(error):
    """Of an exception that nothing expected: its place and its first words."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {pathlib.Path(place.filename).name}:{place.lineno}: {str(error)[:200]!r}"


def end_script(main, name, path=""):
    """Runs a script's main; every ending with its exit code, and errors as one line. path: of the script, where it is not its name."""
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
        code = CANNOT_WRITE
    except Exception as error:
        print(f"{name}: a defect of {path or f'scripts/{name}'}: {defect_text(error)}", file=sys.stderr)
        code = DEFECT
    sys.exit(code)
