"""Figure of cg2d batch: who did which task when, how near that is to the shortest schedule, and how the tasks ended."""

from . import style
from .panels import Axis, Figure, Line, LinePanel, Table
from .times import seconds

FAILED = "failed"


def why_no_batch(material):
    return "" if material.inputs.batches else "no results of cg2d batch were given"


def end_of(task):
    return task["start_s"] + task["duration_s"]


def sittings_of(batch):
    """The tasks of each call of cg2d batch, whose clock begins anew; without those that were not tried again."""
    sittings = {}
    for task in batch.tasks:
        if task["ranks"]:
            sittings.setdefault(task["sitting"], []).append(task)
    return sittings


def ranks_of(tasks):
    return sorted({rank for task in tasks for rank in task["ranks"]})


def least_span(tasks):
    """Seconds that no schedule of these times on these ranks can beat (least_makespan() of cg2d)."""
    work = sum(task["duration_s"] * len(task["ranks"]) for task in tasks)
    return max([work / len(ranks_of(tasks)), *(task["duration_s"] for task in tasks)])


def series_of(task):
    if task["exit_code"] != 0:
        return FAILED
    return f"{len(task['ranks'])} rank" + ("s" if len(task["ranks"]) > 1 else "")


def chart(batch, sitting, tasks):
    """A line for each task on each of its ranks, over the time that it took."""
    names = sorted({series_of(task) for task in tasks}, key=lambda name: (name == FAILED, len(name), name))
    lines = []
    for name in names:
        x, y, tips = [], [], []
        for task in tasks:
            if series_of(task) == name:
                tip = f"{task['name']}\n{seconds(task['duration_s'])} from {seconds(task['start_s'])} on, {task['status']}"
                for rank in task["ranks"]:
                    x += [task["start_s"], end_of(task), None]
                    y += [rank, rank, None]
                    tips += [tip, tip, ""]
        colour, marker = style.series_style(len(lines))
        lines.append(Line(name, x, y, style.GREY if name == FAILED else colour, tips, marker, is_dashed=name == FAILED))
    share = 100 * least_span(tasks) / max(map(end_of, tasks))
    title = f"{batch.source}{f', call {sitting}' if sitting > 1 else ''}: {share:.0f} % of the speed of the shortest possible schedule"
    ranks = ranks_of(tasks)
    return LinePanel(title, Axis("Time since the batch began", from_zero=True, is_time=True), Axis("Rank of the job", ticks=ranks), lines)


def task_table(batches):
    rows = []
    for batch in batches:
        for task in sorted(batch.tasks, key=lambda task: (task["sitting"], task["start_s"])):
            ranks = ", ".join(map(str, task["ranks"]))
            end = task["status"] + (f": {task['reason']}" if task["reason"] else "")
            rows.append([task["name"], ranks, seconds(task["start_s"]), seconds(task["duration_s"]), end])
    return Table("Tasks", ["task", "ranks", "start", "time", "end"], rows, range(2, 4))


def batch(material):
    batches = material.inputs.batches
    panels = [chart(one, sitting, tasks) for one in batches for sitting, tasks in sorted(sittings_of(one).items())]
    note = (
        "Each line is a task on one of its ranks. No schedule is shorter than the longest task, or than the time of all tasks divided by "
        "the number of ranks."
    )
    return Figure(panels, note, None, task_table(batches))
