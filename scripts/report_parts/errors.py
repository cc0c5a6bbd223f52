"""Errors that end the report, with their exit codes."""

import pathlib
import traceback

# Exit codes of sysexits.h, as in the other scripts.
USAGE, BAD_DATA, NO_INPUT, UNAVAILABLE, DEFECT, CANNOT_CREATE, INTERRUPTED = 64, 65, 66, 69, 70, 73, 75


class ReportError(Exception):
    """One line: what is wrong, where, and what would be right."""

    def __init__(self, exit_code, message):
        super().__init__(message)
        self.exit_code = exit_code


def defect_text(error):
    """Of an exception that nothing expected: its place and its first words."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {pathlib.Path(place.filename).name}:{place.lineno}: {str(error)[:200]!r}"
