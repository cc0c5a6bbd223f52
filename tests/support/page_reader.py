"""Reads a page of cg2d report as a reader without eyes would: headings, links, pictures, texts."""

import html.parser
import pathlib

VOID = {"meta", "link", "input", "br", "img", "hr"}


class PageReader(html.parser.HTMLParser):
    """sections, contents: names in their order. pictures: attributes of each svg, img and canvas."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.addresses, self.sections, self.contents = [], [], [], [], []
        self.pictures, self.heading_levels = [], []
        self.language = None
        self._open = []
        self._texts = {}

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag not in VOID and tag not in ("path", "rect"):
            self._open.append((tag, found.get("id")))
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "section":
            self.sections.append(found["id"])
        if tag == "html":
            self.language = found.get("lang")
        if tag in ("svg", "img", "canvas"):
            self.pictures.append(found)
        if tag in ("h1", "h2", "h3", "h4"):
            self.heading_levels.append(int(tag[1]))
        self.addresses += [found[key] for key in ("href", "src") if key in found]
        if tag == "a":
            self.links.append(found["href"].removeprefix("#"))
            if any(name == "nav" for name, _ in self._open):
                self.contents.append(self.links[-1])

    def handle_endtag(self, tag):
        while self._open and any(name == tag for name, _ in self._open):
            if self._open.pop()[0] == tag:
                return

    def handle_data(self, data):
        for tag, name in self._open:
            if tag == "section":
                self._texts[name] = self._texts.get(name, "") + data + " "

    def text_of(self, section):
        """With single blanks."""
        return " ".join(self._texts[section].split())


def read_page(path):
    reader = PageReader()
    reader.feed(pathlib.Path(path).read_text(encoding="utf-8"))
    return reader
