"""Says what the report is doing, to a reader at a terminal: one line that rewrites itself."""

import sys


class Progress:
    """mode: terminal (only where stderr is one), always (plain lines elsewhere), or quiet."""

    def __init__(self, mode="quiet"):
        self._form = "\r\033[K{}" if mode != "quiet" and sys.stderr.isatty() else "{}\n" if mode == "always" else ""

    def say(self, doing):
        print(self._form.format(f"cg2d: report: {doing}"[:200]), end="", file=sys.stderr, flush=True)

    def clear(self):
        """Removes the line; comes before anything else is written."""
        if self._form.startswith("\r"):
            print(self._form.format(""), end="", file=sys.stderr, flush=True)


SILENT = Progress()
