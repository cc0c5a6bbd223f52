"""The part of cg2d report that the program starts: it has checked the options, and says them all."""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
LEAST_PYTHON = (3, 10)
PAGE_MADE = 40  # cg2d report knows by it that this package ran: an exit code of 0 or 1 may be that of any program


def read_arguments():
    parser = argparse.ArgumentParser(prog="cg2d report", add_help=False, allow_abbrev=False)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--cg2d", required=True)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--progress", required=True)
    parser.add_argument("--figures", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--label", action="append", default=[])
    return parser.parse_args()


def main():
    if sys.version_info < LEAST_PYTHON:
        print(f"cg2d: report: {sys.executable} is older than Python 3.10; name a newer one by CG2D_PYTHON", file=sys.stderr)
        return 69  # unavailable, as in errors.py, which this Python may not read
    sys.path[0] = str(HERE.parent)
    from report_parts.errors import end_script
    from report_parts.make_report import make_report
    from report_parts.progress import Progress

    def report():
        arguments = read_arguments()
        os.environ["CG2D"] = arguments.cg2d
        progress = Progress(arguments.progress)
        try:
            lines = make_report(arguments, progress)
        finally:
            progress.clear()
        if arguments.progress != "quiet":
            # The page itself may be on standard output.
            print("\n".join(lines), file=sys.stderr if str(arguments.output) == "-" else sys.stdout)
        return PAGE_MADE

    return end_script(report, "cg2d: report", "cg2d report")


if __name__ == "__main__":
    sys.exit(main())
