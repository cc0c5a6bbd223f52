"""Shared by the scripts: options, programs that they run, and files that they write."""

import argparse
import re
import shlex
import shutil
import subprocess

from report_parts.errors import BAD_DATA, UNAVAILABLE, USAGE, ReportError, end_script  # noqa: F401  (end_script: for the scripts)
from report_parts.make_report import code_of, write


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(**options, allow_abbrev=False)

    def error(self, message):
        raise ReportError(USAGE, f"{message}; see --help")


def words_like(pattern, wanted, value_of=str):
    """The type of an option whose text matches: value_of(text). wanted: what its text must be, for the message."""

    def value(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"must be {wanted}")
        return value_of(text)

    return value


def once_each(names):
    """In their order."""
    return list(dict.fromkeys(names))


def write_file(path, text):
    """Whole or not at all."""
    try:
        write(path, text.encode())
    except OSError as error:
        raise ReportError(code_of(error), f"{path}: {error.strerror}") from None


def first_program(*names):
    """The path of the first program that exists."""
    return next((found for name in names if name and (found := shutil.which(name))), None)


def output_of(command, name="", seconds=None, failed=BAD_DATA, passed_on=()):
    """Standard output of a program, which must succeed. name: of the command in messages. failed: the script's exit code where it does
    not; passed_on: codes of the program that the script ends with, too."""
    name = name or shlex.join(map(str, command))
    try:
        outcome = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=seconds)
    except OSError as error:
        raise ReportError(UNAVAILABLE, f"{command[0]}: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ReportError(UNAVAILABLE, f"{name}: no end within {seconds} s") from None
    if outcome.returncode != 0:
        code = outcome.returncode if outcome.returncode in passed_on else failed
        said = outcome.stderr.strip() or outcome.stdout.strip() or "no reason given"
        raise ReportError(code, f"{name} ended with code {outcome.returncode}: {said.splitlines()[-1]}")
    return outcome.stdout
