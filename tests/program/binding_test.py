"""Placement of threads: reports of cg2d, compared with what the system says of its processes."""

import json
import os
import pathlib
import re

from program_runner import BackgroundRun, ProgramTest


def processors_of(text):
    """{0, 1, 2, 8} of "0-2,8"."""
    processors = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        processors |= set(range(int(first), int(last or first) + 1))
    return processors


def allowed_of_tasks(process_id):
    """The processors that every thread of a process may run on."""
    texts = [task.read_text() for task in pathlib.Path(f"/proc/{process_id}/task").glob("*/status")]
    return [frozenset(processors_of(found)) for text in texts for found in re.findall(r"(?m)^Cpus_allowed_list:(.*)", text)]


class BindingTest(ProgramTest):
    """One problem, whatever cores there are."""

    def assert_bound_where_cores_suffice(self, document, thread_count):
        environment = document["environment"]
        ranks = environment["binding"]
        suffices = len(ranks) * thread_count <= environment["nodes"][0]["cores"]
        binding = environment["thread_binding"]
        self.assertEqual(binding["is_bound"], suffices and thread_count > 1, binding)
        self.assertEqual(binding["why_not"] == "", binding["is_bound"])
        for rank in ranks:
            self.assertEqual(len(rank["threads"]), thread_count)
            for thread in rank["threads"]:
                self.assertLessEqual(processors_of(thread), processors_of(rank["processors"]))
        sets = [frozenset(processors_of(thread)) for rank in ranks for thread in rank["threads"]]
        if binding["is_bound"]:
            self.assertEqual(sum(map(len, sets)), len(frozenset().union(*sets)), "two threads share a processor")
        else:
            self.assertEqual(sets, [frozenset(processors_of(rank["processors"])) for rank in ranks for _ in rank["threads"]])

    def test_each_thread_has_a_core_of_its_own_where_there_are_enough(self):
        for rank_count, thread_count in ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3)):
            with self.subTest(ranks=rank_count, threads=thread_count):
                words = ("--class", "S", "--grid", f"1x{rank_count}", "--threads", thread_count)
                document = self.document_of(rank_count, "run", *words)
                self.assert_bound_where_cores_suffice(document, thread_count)
                node = document["environment"]["nodes"][0]
                warned = any("exceed the cores" in warning for warning in document["warnings"])
                self.assertEqual(warned, thread_count > 1 and rank_count * thread_count > node["cores"])

    def test_ranks_that_outnumber_the_cores_share_them_evenly(self):
        allowed = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, allowed)
        os.sched_setaffinity(0, set(sorted(allowed)[:2]))
        environment = self.document_of(6, "run", "--class", "S", "--grid", "2x3")["environment"]
        used = [frozenset(processors_of(rank["threads"][0])) for rank in environment["binding"]]
        cores = environment["nodes"][0]["cores"]
        self.assertEqual(environment["thread_binding"]["is_bound"], cores == 2, environment["thread_binding"])
        if cores == 2:
            self.assertEqual([used.count(one) for one in used], 6 * [3])
            self.assertEqual(len(set(used[:3])), 1, "neighbours share a core")
        free = self.document_of(6, "run", "--class", "S", "--grid", "2x3", "--bind", "none")["environment"]
        self.assertFalse(free["thread_binding"]["is_bound"])

    def test_none_binds_nothing(self):
        document = self.document_of(1, "run", "--class", "S", "--threads", "2", "--bind", "none")
        self.assertEqual(document["environment"]["thread_binding"], {"is_bound": False, "why_not": "not requested (--bind none)"})
        rank = document["environment"]["binding"][0]
        self.assertEqual(rank["threads"], 2 * [rank["processors"]])

    def test_openmps_own_binding_stands(self):
        document = self.document_of(1, "run", "--class", "S", "--threads", "2", env={**os.environ, "OMP_PROC_BIND": "true"})
        self.assertIn("OMP_PROC_BIND", document["environment"]["thread_binding"]["why_not"])

    def test_the_system_says_the_same_while_it_runs(self):
        output = self.folder / "result.json"
        words = ("run", "--class", "S", "--threads", "2", "--repeat", "300", "--format", "json", "--no-phases")
        with BackgroundRun(1, *words, "--output", output) as run:
            run.wait_for(r"run 2, outer iteration 3/")
            allowed = [frozenset(tasks) for tasks in map(allowed_of_tasks, run.ranks())]
            os.kill(run.ranks()[0], 15)
            run.finish()
        threads = json.loads(output.read_text())["environment"]["binding"][0]["threads"]
        self.assertEqual(len(allowed), 1)
        for thread in threads:
            self.assertIn(frozenset(processors_of(thread)), allowed[0])
