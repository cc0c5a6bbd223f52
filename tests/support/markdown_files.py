"""The READMEs as the tests see them: headings, tables, code blocks, code spans, links."""

import dataclasses
import functools
import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("cg", "comm", "kernels", "tests", "bench", "scripts")


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of cells, the head first, and the headings that the table stands below, from the outermost on."""

    place: str
    headings: tuple
    rows: tuple

    def head(self):
        return self.rows[0][0]

    def body(self):
        return self.rows[2:]  # the second row is the line of dashes


def cells_of(line):
    """"| a | b\\|c |" -> ("a", "b|c")"""
    return tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1])


def anchor_of(heading):
    """The anchor that GitHub makes of a heading's text."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Document:
    """One Markdown file. Code blocks are indented by four blanks, as everywhere in this project."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(PROJECT))
        self.lines = path.read_text().splitlines()
        self.headings = []  # texts
        self.tables = []
        self.code_blocks = []  # lists of lines
        self.prose = []  # all lines that are no code
        self._read()

    def _read(self):
        chain = []
        previous = "blank"
        for number, line in enumerate(self.lines, 1):
            heading = re.match(r"(#+) (.*)", line)
            if not line.strip():
                kind = "code" if previous == "code" else "blank"  # a code block goes on after an empty line
            elif line.startswith("    ") and previous in ("code", "blank"):
                kind = "code"
                self._add_code(line[4:], begins=previous == "blank")
            elif heading:
                kind = "blank"
                chain = [*chain[: len(heading[1]) - 1], heading[2]]
                self.headings.append(heading[2])
            elif line.startswith("|"):
                kind = "table"
                if previous != "table":
                    self.tables.append(Table(f"{self.name}:{number}", tuple(chain), ()))
                last = self.tables[-1]
                self.tables[-1] = dataclasses.replace(last, rows=(*last.rows, cells_of(line)))
            else:
                kind = "prose"
            if kind != "code":
                self.prose.append(line)
            previous = kind

    def _add_code(self, line, begins):
        if begins:
            self.code_blocks.append([])
        self.code_blocks[-1].append(line)

    def anchors(self):
        found = []
        for heading in self.headings:
            anchor = anchor_of(heading)
            count = sum(1 for other in found if re.fullmatch(re.escape(anchor) + r"(-\d+)?", other))
            found.append(f"{anchor}-{count}" if anchor in found else anchor)
        return found

    def code_spans(self):
        """The texts between backticks, outside of code blocks."""
        return re.findall(r"`([^`]+)`", "\n".join(self.prose).replace("\\|", "|"))

    def links(self):
        """Targets of all links and pictures, outside of code."""
        return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", "\n".join(self.prose)))


@functools.cache
def documents():
    """All Markdown files of the project, by their path in it."""
    paths = [*PROJECT.glob("*.md"), *(path for folder in FOLDERS for path in (PROJECT / folder).rglob("*.md"))]
    return {str(path.relative_to(PROJECT)): Document(path) for path in sorted(paths)}
