"""The page of scripts/report, made from a real sweep and opened in a browser that is offline."""

import json
import pathlib
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common import utils
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from program_runner import PROJECT, SUCCESS, run_command, run_program
from report_facts import (
    BENCH,
    PROFILE,
    RANK_COUNTS,
    as_class_b,
    real_sweep,
    with_counters,
    with_figures,
    with_predictions,
    with_rooflines,
    with_second_kernel,
    write_lines,
)

from report_parts.figure_table import FIGURES

PNG_BEGINS = b"\x89PNG\r\n\x1a\n"

# Where the mouse finds a point, or the tallest bar, of a chart that has something to say: from the middle of the chart.
PLACE_OF_A_TIP = """
const chart = Chart.getChart(arguments[0]);
arguments[0].scrollIntoView({block: "center"});
const found = [];
for (const [index, dataset] of chart.data.datasets.entries()) {
  for (const [point, element] of chart.getDatasetMeta(index).data.entries()) {
    if (dataset.tips[point] && dataset.data[point] !== null && dataset.data[point].y !== null) found.push(element);
  }
}
if (!found.length) return null;
const height = (element) => Math.abs(element.height || 0);
const place = found.reduce((a, b) => (height(b) > height(a) ? b : a)).getCenterPoint();
const pixels = chart.canvas.getBoundingClientRect();
return [place.x - pixels.width / 2, place.y - pixels.height / 2];
"""
# The text of the tooltip, and all texts that the tooltips of the chart may have.
SHOWN_TIPS = """
const chart = Chart.getChart(arguments[0]);
const shown = chart.tooltip.opacity > 0 ? chart.tooltip.body.map((item) => item.lines.join("\\n")) : [];
return [shown, chart.data.datasets.flatMap((dataset) => dataset.tips)];
"""


class DriverService(Service):
    """Reached by its number: a bare system may not know the name "localhost". (The driver reaches the browser by a pipe.)"""

    HOST = "127.0.0.1"

    @property
    def service_url(self):
        return f"http://{self.HOST}:{self.port}"

    def is_connectable(self):
        return utils.is_connectable(self.port, self.HOST)


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    words = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "window-size=1300,900", "remote-debugging-pipe")
    for word in words:
        options.add_argument("--" + word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=DriverService("/usr/bin/chromedriver"), options=options)


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="cg2d-report-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.sweep = real_sweep()
        cls.page = cls.make("real", cls.sweep)
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)

    @classmethod
    def make(cls, name, documents, *words):
        """The page's path."""
        results = write_lines(cls.folder / f"{name}.jsonl", documents)
        page = cls.folder / name / "report.html"
        outcome = run_command([sys.executable, PROJECT / "scripts" / "report", results, "-o", page, *words])
        if outcome.exit_code != SUCCESS or outcome.stderr:
            raise AssertionError(f"no page: {outcome}")
        return page

    def open(self, page):
        """Opens a page; it may ask for nothing but itself, and its script may complain of nothing."""
        for log in ("browser", "performance"):
            self.browser.get_log(log)  # forgets what was before
        self.browser.get(page.as_uri())
        messages = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        self.assertEqual([url for url in asked if not url.startswith("data:")], [page.as_uri()])
        self.assertEqual(self.browser.get_log("browser"), [])

    def find(self, selector):
        return self.browser.find_elements("css selector", selector)

    def assert_tips_answer(self):
        """The mouse goes to every chart."""
        for canvas in self.find("section canvas"):
            title = canvas.get_attribute("aria-label")
            place = self.browser.execute_script(PLACE_OF_A_TIP, canvas)
            self.assertIsNotNone(place, f"{title}: nothing to say")
            ActionChains(self.browser, duration=0).move_to_element_with_offset(canvas, *map(round, place)).perform()
            shown, tips = self.browser.execute_script(SHOWN_TIPS, canvas)
            self.assertTrue(shown, f"{title}: no tooltip")
            self.assertLessEqual(set(shown), set(tips), title)
        self.assertEqual(self.browser.get_log("browser"), [])

    def assert_figures(self, page, names):
        """On the page with a chart each, and as files."""
        self.assertEqual([section.get_attribute("id") for section in self.find("section:has(canvas)")], names)
        files = {path.name for path in (page.parent / "report-figures").iterdir()}
        self.assertEqual(files, {f"{name}.{kind}" for name in names for kind in ("png", "svg")})
        for path in (page.parent / "report-figures").glob("*.png"):
            self.assertEqual(path.read_bytes()[:8], PNG_BEGINS, path)

    def test_a_real_sweep(self):
        self.open(self.page)
        missing = {"prediction", "settings", "counters", "row-length", "roofline", "machines"}
        self.assertLessEqual(missing, {element.get_attribute("id") for element in self.find(".missing li")})
        for element in self.find(".missing li"):
            self.assertRegex(element.text, r": .{10,}\.$")
        left_out = {element.get_attribute("id") for element in self.find(".missing li")}
        self.assert_figures(self.page, [row.name for row in FIGURES if row.name not in left_out])
        self.assert_tips_answer()

    def test_what_comes_first(self):
        self.open(self.page)
        (verdict,) = self.find("h1 + .verdict")
        self.assertRegex(verdict.text, r"\AClass S on \d ranks: (best is \dx\d with|\dx\d with .* is not distinguishable) ")
        heads = [cell.text for cell in self.find(".verdict + .scroll th")]
        self.assertEqual(heads[:4], ["problem", "ranks", "best grid", "median"])
        self.assertEqual(len(self.find(".verdict + .scroll tbody tr")), len(RANK_COUNTS))
        self.assertIn(self.sweep[0]["environment"]["mpi"], self.browser.page_source)

    def test_all_data_gives_all_figures(self):
        profile, bench = self.folder / "profile.json", self.folder / "bench.json"
        profile.write_text(json.dumps(PROFILE))
        bench.write_text(json.dumps(BENCH))
        # One run of class B, so that a figure of it and panels of several problems are there.
        runs = self.sweep + as_class_b(self.sweep[:1])
        documents = with_second_kernel(with_rooflines(with_figures(with_counters(with_predictions(runs)))))
        page = self.make("all", documents, "--profile", profile, "--bench", bench)
        self.open(page)
        self.assert_figures(page, [row.name for row in FIGURES])
        self.assertEqual(self.find(".missing li[id]"), [])
        self.assertIn("Test <processor>", [head.text for head in self.find("#row-length h3")])
        heads = [cell.text for cell in self.find("#counters .scroll th")]
        self.assertEqual(heads[2:], ["instructions per core cycle", "flops per nonzero", "PAPI_L3_TCM per nonzero"])
        self.assertIn("1.23", [cell.text for cell in self.find("#counters .scroll td.number")])
        self.assert_tips_answer()

    def step_page(self):
        """A page with one CG step of a real trace."""
        run, trace = self.folder / "run.json", self.folder / "trace.json"
        words = ("--class", "S", "--grid", "2x2", "--niter", "2", "--trace", trace, "--format", "json", "--output", run)
        outcome = run_program(4, "run", *words)
        self.assertEqual(outcome.exit_code, SUCCESS, outcome)
        return self.make("step", [json.loads(run.read_text())], "--trace", trace)

    def moment(self):
        """Per mille of the step."""
        return int(self.find("#cg-step input")[0].get_property("value"))

    def wants_no_motion(self, value):
        features = [{"name": "prefers-reduced-motion", "value": value}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def test_one_cg_step_moves(self):
        self.open(self.step_page())
        play, back, on = self.find("#cg-step button")
        (slider,) = self.find("#cg-step input")
        self.assertEqual((self.moment(), play.text), (0, "Play"))  # nothing moves by itself
        play.send_keys(" ")
        WebDriverWait(self.browser, 10).until(lambda browser: self.moment() > 20)
        self.assertEqual(play.text, "Pause")
        play.send_keys(" ")
        here = self.moment()
        slider.send_keys(Keys.ARROW_RIGHT)
        self.assertEqual((self.moment(), play.text), (here + 1, "Play"))
        slider.send_keys(Keys.END)
        self.assertEqual(self.moment(), 1000)
        slider.send_keys(Keys.HOME)
        on.click()
        later = self.moment()
        on.click()
        self.assertGreaterEqual(self.moment(), later)
        for _ in range(2):
            back.click()
        self.assertEqual(self.moment(), 0)
        slider.send_keys(Keys.PAGE_UP)
        doing = [text.text for text in self.find("#cg-step .doing")]
        self.assertEqual(len(doing), 4)
        self.assertTrue(set(doing) <= {"collection", "multiply", "summation", "shuffle", "dot", "vector updates", "between phases"})
        self.assertRegex(slider.get_attribute("aria-valuetext"), r"µs of .* µs")
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_one_cg_step_without_motion(self):
        """It stands still between changes of a phase, which come a second apart."""
        self.wants_no_motion("reduce")
        self.addCleanup(self.wants_no_motion, "")
        self.open(self.step_page())
        moments = "const times = new Set(); const output = document.querySelector('#cg-step output'); const done = arguments[0];"
        moments += "new MutationObserver(() => times.add(output.textContent)).observe(output, {childList: true});"
        moments += "document.querySelector('#cg-step .play').click(); setTimeout(() => done(times.size), 2500);"
        self.assertIn(self.browser.execute_async_script(moments), (1, 2))

    def test_one_cg_step_fits_a_phone(self):
        self.open(self.step_page())
        self.browser.set_window_size(420, 900)
        self.addCleanup(self.browser.set_window_size, 1300, 900)
        fits = "const d = document.documentElement; return d.clientWidth <= 420 && d.scrollWidth <= d.clientWidth;"
        WebDriverWait(self.browser, 10).until(lambda browser: browser.execute_script(fits))

    def test_it_fits_a_narrow_window(self):
        self.open(self.page)
        self.browser.set_window_size(600, 900)
        self.addCleanup(self.browser.set_window_size, 1300, 900)
        # The charts follow the window a little later. A wait in vain fails.
        fits = "const d = document.documentElement; return d.clientWidth < 600 && d.scrollWidth <= d.clientWidth;"
        WebDriverWait(self.browser, 10).until(lambda browser: browser.execute_script(fits))


if __name__ == "__main__":
    unittest.main(verbosity=2)
