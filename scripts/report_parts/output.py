"""Writes the page and its figures."""

import os
import pathlib
import sys
import tempfile

from .errors import CANNOT_CREATE, ReportError

STANDARD_OUTPUT = pathlib.Path("-")


def write_all(files):
    """{path: bytes}. Nothing is left half-written: each file appears whole, and none before all have been written. "-": standard output."""
    waiting = []
    try:
        for path, content in files.items():
            if path == STANDARD_OUTPUT:
                sys.stdout.buffer.write(content)
                sys.stdout.buffer.flush()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
                waiting.append((file.name, path))
                file.write(content)
                umask = os.umask(0)
                os.umask(umask)
                os.chmod(file.name, 0o666 & ~umask)
        while waiting:
            os.replace(*waiting[-1])
            waiting.pop()
    except OSError as error:
        raise ReportError(CANNOT_CREATE, f"{error.filename or path}: {error.strerror}") from None
    finally:
        for name, _ in waiting:
            os.unlink(name)
