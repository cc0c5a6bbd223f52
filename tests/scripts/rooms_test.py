"""The order of the rooms: a source includes only rooms that its own room uses, as CMakeLists.txt says them."""

import pathlib
import re
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ("*.hpp", "*.cpp", "*.hpp.in")
# Headers that others compile: the library's rooms. They must not need the libraries whose includes contain these words.
LIBRARY_ROOMS = ("kernels", "comm", "cg/base", "cg/matrix", "cg/timing", "cg/solver", "cg/library")
NOT_IN_THE_LIBRARY = ("CLI/", "hwloc", "papi", "nlohmann/")
NOT_INSTALLED = ("describe", "json_")  # as CMakeLists.txt excludes them


def declared_rooms():
    """Folder of each room -> folders of the rooms that it says to use."""
    rows = re.findall(r"^cg2d_add_room\((\S+)([^)]*)\)", (PROJECT / "CMakeLists.txt").read_text(), re.MULTILINE)
    folders = {pathlib.PurePath(folder).name: folder for folder, _ in rows}
    uses = {folder: re.search(r"USES ((?:[a-z]+ ?)+)", words) for folder, words in rows}
    return {folder: {folders[name] for name in names[1].split()} if names else set() for folder, names in uses.items()}


def rooms_with_their_uses():
    """Folder of each room -> folders of the rooms that it may include, its own among them. (CMake refuses rooms that use each other.)"""
    declared = declared_rooms()

    def allowed(folder):
        return {folder}.union(*map(allowed, declared[folder]))

    return {folder: allowed(folder) for folder in declared}


def includes_of(file):
    return re.findall(r'^#include ["<]([^">]+)[">]', file.read_text(), re.MULTILINE)


def sources_of(folder):
    """Those of the room: its folder, and the folders in it."""
    return [file for pattern in SOURCES for file in sorted((PROJECT / folder).rglob(pattern))]


def room_of(path, rooms):
    """The room that a file of the project is in; None: it is in none."""
    return next((str(folder) for folder in pathlib.PurePath(path).parents if str(folder) in rooms), None)


class Features(unittest.TestCase):
    MOST_OTHERS = 4
    OF_OTHER_COMMANDS = {"--out-of-core"}  # cg2d stencil has one, too, with files of its own

    def test_an_option_of_a_feature_is_named_in_few_other_sources(self):
        sources = {file: file.read_text() for file in sources_of("cg")}
        declaring = PROJECT / "cg/commands/shared_options.cpp"
        declared = re.search(r"void add_feature_options\(.*?\n}\n", sources[declaring], re.DOTALL)[0].split('"Counters and traces"')[0]
        options = re.findall(r'"(--[a-z-]+)[^"]*"\s*,', declared)
        self.assertGreater(len(options), 8)
        for option in options:
            if option in self.OF_OTHER_COMMANDS:
                continue
            named = [file for file, text in sources.items() if file != declaring and re.search(rf"{option}\b(?!-)", text)]
            own = {file.parent for file in named if file.name.endswith("_feature.cpp")}
            others = [str(file) for file in named if file.parent not in own]
            self.assertLessEqual(len(others), self.MOST_OTHERS, f"{option}: {others}")


class Rooms(unittest.TestCase):
    def setUp(self):
        self.rooms = rooms_with_their_uses()

    def test_every_folder_with_sources_is_a_room(self):
        files = [file.relative_to(PROJECT) for top in ("cg", "comm", "kernels") for file in (PROJECT / top).rglob("*.?pp")]
        self.assertEqual({room_of(file, self.rooms) for file in files}, set(self.rooms))

    def test_kernels_and_comm_know_neither_each_other_nor_cg(self):
        for folder in ("kernels", "comm"):
            self.assertEqual(self.rooms[folder], {folder})

    def test_no_include_points_upwards(self):
        wrong = []
        for folder, allowed in self.rooms.items():
            for file in sources_of(folder):
                for include in includes_of(file):
                    room = room_of(include, self.rooms)
                    if room and room not in allowed:
                        wrong.append(f"{file.relative_to(PROJECT)} includes {include}")
        self.assertEqual(wrong, [], "a room that these do not use")

    def test_no_use_is_without_an_include(self):
        for folder, used in declared_rooms().items():
            included = {room_of(include, self.rooms) for file in sources_of(folder) for include in includes_of(file)}
            self.assertEqual(used - included, set(), f"rooms that {folder} says to use")

    def test_the_librarys_headers_need_no_package_of_the_laboratory(self):
        wrong = []
        for folder in LIBRARY_ROOMS:
            for file in sorted((PROJECT / folder).rglob("*.hpp")):
                if file.name.startswith(NOT_INSTALLED):
                    continue
                wrong += [
                    f"{file.relative_to(PROJECT)} includes {include}"
                    for include in includes_of(file)
                    if include.startswith(NOT_IN_THE_LIBRARY) or pathlib.PurePath(include).name.startswith(NOT_INSTALLED)
                ]
        self.assertEqual(wrong, [])

    def test_layouts_are_made_in_one_place(self):
        makers = [
            str(file.relative_to(PROJECT))
            for folder in self.rooms
            if folder.startswith("cg/")
            for file in sources_of(folder)
            if re.search(r"BlockLayout::(even|weighted)\(.*, configuration\.grid", file.read_text())
        ]
        self.assertEqual(makers, ["cg/solver/communicator_setup.cpp"], "others call make_layout(), which a configuration steers")

    def test_operators_of_blocks_are_assembled_in_one_place(self):
        makers = {
            str(file.relative_to(PROJECT))
            for folder in self.rooms
            for file in sources_of(folder)
            for code in [re.sub(r"//.*|#include.*", "", file.read_text())]
            if re.search(r"\bmake_(block|overlapped)_product\b|\bAssembledOperator\b \w+[({]", code)
        }
        parts = {f"cg/solver/{name}" for name in ("assembled_operator.cpp", "assembled_operator.hpp")}
        self.assertEqual(makers, parts, "others call assemble(), or its steps")

    def test_nothing_obeys_the_locale_of_the_host_program(self):
        functions = r"(?<![\w:])(?:std::)?(strto(?:d|f|ld)|atof|sscanf|sto(?:d|f|ld)|setlocale|to(?:lower|upper)|is(?:alnum|alpha|cntrl|digit|graph|lower|print|punct|space|upper|xdigit))\("
        floating_text = r"printf\([^;]*%[-+ #0-9.*]*[aefgAEFG]"
        wrong = []
        for folder in self.rooms:
            for file in sources_of(folder):
                code = re.sub(r"//.*", "", file.read_text())
                for function in re.findall(functions, code) + re.findall(floating_text, code):
                    wrong.append(f"{file.relative_to(PROJECT)}: {function}")
        self.assertEqual(wrong, [], "from_chars, fmt and the letters of cg/base/values.hpp know no locale")
