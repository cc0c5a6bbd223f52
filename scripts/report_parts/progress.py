"""Says what the report is doing, to a reader at a terminal: one line that rewrites itself."""

import sys
import time

class Progress:
    """mode: terminal (only where stderr is one), always (plain lines elsewhere), or quiet."""

    def __init__(self, mode="quiet"):
        self._rewrites = mode != "quiet" and sys.stderr.isatty()
        self._is_plain = mode == "always" and not self._rewrites
        self._begin = time.monotonic()
        self._is_written = False

    def say(self, doing):
        elapsed_s = time.monotonic() - self._begin
        if self._rewrites:
            print(f"\r\033[Kcg2d: report: {elapsed_s:.0f} s: {doing}"[:200], end="", file=sys.stderr, flush=True)
            self._is_written = True
        elif self._is_plain:
            print(f"cg2d: report: {elapsed_s:.1f} s: {doing}", file=sys.stderr, flush=True)

    def clear(self):
        """Removes the line; comes before anything else is written."""
        if self._is_written:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._is_written = False


SILENT = Progress()
