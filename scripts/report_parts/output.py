"""Writes the page and its figures."""

import os
import pathlib
import sys
import tempfile

from .errors import CANNOT_CREATE, ReportError

STANDARD_OUTPUT = pathlib.Path("-")


def write(path, content):
    """Whole or not at all. "-": standard output; a device or a pipe gets the bytes as they are."""
    if path == STANDARD_OUTPUT:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        path.write_bytes(content)
        return
    path = path.resolve()  # not the link is replaced
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(file.name, 0o666 & ~umask)
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def write_all(files):
    """{path: bytes}. One that cannot be written takes no other along; of a folder, the first such file is named."""
    failures = {}
    for path, content in files.items():
        try:
            write(path, content)
        except OSError as error:
            is_of_folder = pathlib.Path(error.filename or path) in path.parents
            failures.setdefault((path.parent, error.strerror), path.parent if is_of_folder else path)
    if failures:
        raise ReportError(CANNOT_CREATE, "; ".join(f"{path}: {reason}" for (_, reason), path in failures.items()))
