"""The page of cg2d report, made from real results and opened in a browser that is offline: at three widths, light and dark, by keyboard."""

import json
import xml.etree.ElementTree

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common import utils
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from program_runner import PROGRAM, SUCCESS, ProgramTest, run_command, temporary_folder
from report_facts import real_sweep, session_files, write_lines

from report_parts import style

SCHEMES = ("light", "dark")

# What is drawn, and whether it is on the screen: nothing is wider than the page, and no text lies on another of its picture.
TEXTS_OF_PICTURES = """
const overlaps = [];
for (const chart of document.querySelectorAll(".chart")) {
  const boxes = [...chart.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  boxes.forEach(([one, a], index) => boxes.slice(index + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 0.35 * Math.min(a.height, b.height)) overlaps.push(`${chart.ariaLabel.slice(0, 40)}: ${one} | ${other}`);
  }));
}
return overlaps;
"""
LARGEST_MARK = """
const size = (mark) => mark.getBoundingClientRect().width;
return [...arguments[0].querySelectorAll("[data-tip]:not(.curve)")].sort((a, b) => size(b) - size(a))[0];
"""
FOCUSED = "const e = document.activeElement; return [e.tagName, e.getAttribute('href'), e.className.baseVal];"
BOX_OF_THE_TIP = """
const box = document.getElementById("tip").getBoundingClientRect();
return [box.left, box.top, box.right, box.bottom];
"""
WIDTHS_OF_THE_PAGE = "const page = document.documentElement; return [page.scrollWidth, page.clientWidth];"
SMALLEST_TEXT = """
const sizes = (chart) => (9.5 * chart.getBoundingClientRect().width) / chart.viewBox.baseVal.width;
return Math.min(...[...document.querySelectorAll(".chart")].map(sizes));
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


class ReportPage(ProgramTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder(cls.addClassCleanup)
        cls.sweep = real_sweep()
        cls.page = cls.make("real", cls.sweep)
        cls.session = cls.made("session", *session_files())
        cls.browser = start_browser()
        cls.addClassCleanup(cls.browser.quit)

    @classmethod
    def made(cls, name, *words):
        """The page's path."""
        page = cls.folder / name / "report.html"
        outcome = run_command([PROGRAM, "report", *words, "-o", page])
        assert outcome.exit_code == SUCCESS and not outcome.stderr, f"no page: {outcome}"
        return page

    @classmethod
    def make(cls, name, documents, *words):
        return cls.made(name, write_lines(cls.folder / f"{name}.jsonl", documents), *words)

    def setUp(self):
        self.show(1280, "light")

    def show(self, width, scheme, *features):
        """From now on, pages are as wide as this, on a screen with this scheme."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = [{"name": "prefers-color-scheme", "value": scheme}, *features]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})

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

    def run_script(self, text, *arguments):
        return self.browser.execute_script(text, *arguments)

    def test_three_widths_light_and_dark(self):
        for width in (420, 1280, 2560):
            for scheme in SCHEMES:
                with self.subTest(width=width, scheme=scheme):
                    self.show(width, scheme)
                    self.open(self.session)
                    self.assertEqual(self.run_script("return window.innerWidth"), width)
                    self.assertLessEqual(*self.run_script(WIDTHS_OF_THE_PAGE))
                    self.assertEqual(self.run_script(TEXTS_OF_PICTURES), [])
                    self.assertGreaterEqual(self.run_script(SMALLEST_TEXT), 8.0, "pixels")
                    ground = self.run_script("return getComputedStyle(document.body).backgroundColor")
                    expected = style.channels(style.PAGE_COLOURS["page"][SCHEMES.index(scheme)])
                    self.assertEqual(ground, "rgb({}, {}, {})".format(*expected))
                    self.assertEqual(self.browser.get_log("browser"), [])

    def test_the_keyboard_reaches_contents_and_numbers(self):
        self.open(self.session)
        seen = []
        for _ in range(40):
            ActionChains(self.browser).send_keys(Keys.TAB).perform()
            seen.append(self.run_script(FOCUSED))
            if seen[-1][2] == "chart":
                break
        self.assertEqual(seen[0][:2], ["A", "#main"], "first a way past the contents")
        sections = [f"#{section.get_attribute('id')}" for section in self.find("section")]
        self.assertEqual([href for tag, href, _ in seen[1:] if tag == "A"], sections)
        self.assertEqual(seen[-1][2], "chart", seen)
        tip = "const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent"
        self.assertEqual(self.run_script(tip), "")
        ActionChains(self.browser).send_keys(Keys.ARROW_RIGHT).perform()
        first = self.run_script(tip)
        ActionChains(self.browser).send_keys(Keys.END).perform()
        self.assertTrue(first and self.run_script(tip) not in ("", first))
        ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.assertEqual(self.run_script(tip), "")

    def test_every_mark_says_its_numbers_under_the_pointer(self):
        self.open(self.session)
        charts = self.find(".chart")
        self.assertEqual(self.run_script("return document.querySelectorAll('.chart title').length"), 0, "they would show twice")
        for chart in charts:
            mark = self.run_script(LARGEST_MARK, chart)  # a hand can point at it
            self.assertIsNotNone(mark, chart.get_attribute("aria-label"))
            self.run_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", mark)
            ActionChains(self.browser, duration=0).move_to_element(mark).perform()
            self.assertTrue(self.find("#tip:not([hidden])"), chart.get_attribute("aria-label"))
            left, top, right, bottom = self.run_script(BOX_OF_THE_TIP)
            self.assertTrue(0 <= left < right <= 1280 and 0 <= top < bottom <= 900, chart.get_attribute("aria-label"))

    def test_every_picture_can_be_saved(self):
        """From a dark screen, as a light file that needs no other style sheet."""
        self.show(1280, "dark")
        self.open(self.session)
        folder = self.folder / "saved"
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        self.assertEqual(len(self.find(".save")), len(self.find(".chart")))
        for name, selector in (("phases-by-grid-1.svg", "#phases-by-grid"), ("time-by-grid-1.svg", "#time-by-grid")):
            panel = self.find(f"{selector} .panel")[0]
            title = panel.find_element("css selector", "h3").text
            panel.find_element("css selector", ".save").send_keys(Keys.ENTER)
            WebDriverWait(self.browser, 10).until(lambda browser: (folder / name).is_file() and (folder / name).stat().st_size)
            text = (folder / name).read_text(encoding="utf-8")
            for word in ("var(", style.DARK["#E69F00"]):
                self.assertNotIn(word, text)
            picture = xml.etree.ElementTree.fromstring(text)
            self.assertEqual(picture.find("{http://www.w3.org/2000/svg}text").text, title)
            texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
            self.assertTrue({"multiply", "waiting for others"} <= set(texts) or "Time, among grids of the same number of ranks" in texts, texts)
            classes = {word for element in picture.iter() for word in element.get("class", "").split()}
            self.assertIn(style.mark_class(style.PHASE_COLOURS["multiply"]) if "phases" in name else "h0", classes)

    def test_without_scripts_titles_are_there(self):
        self.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        self.addCleanup(self.browser.execute_cdp_cmd, "Emulation.setScriptExecutionDisabled", {"value": False})
        self.browser.get(self.page.as_uri())
        self.assertGreater(len(self.find(".chart title")), 20)

    def step_page(self):
        """A page with one CG step of a real trace."""
        run, trace = self.folder / "run.json", self.folder / "trace.json"
        words = ("--class", "S", "--grid", "2x2", "--niter", "2", "--trace", trace, "--format", "json", "--output", run)
        self.run_well(4, "run", *words)
        return self.make("step", [json.loads(run.read_text())], trace)

    def moment(self):
        """Per mille of the step."""
        return int(self.find("#cg-step input")[0].get_property("value"))

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
