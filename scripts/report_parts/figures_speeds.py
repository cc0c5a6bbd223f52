"""Figures of ranks that differ in speed: speed, share and waiting of each, with even pieces and with those of the run, or
before and after the matrix was repartitioned."""

import dataclasses

from .figures_solves import file_name
from .panels import Cell, Figure, HeatPanel, Table, put_beside
from .studies import problem_name

MOST_RUNS = 3  # with six maps each, where all measured the speeds
BILLION = 1e9


def is_uneven(document):
    configuration = document["configuration"] or {}
    has_shares = configuration.get("cut", "").startswith(("speed", "file:"))
    return bool(document["phases"]) and (has_shares or bool(document.get("slow_ranks")) or bool(moves_of(document)))


def moves_of(document):
    """Each repartitioning, with an outer iteration after them."""
    return [move for move in (document.get("rebalance") or {"moves": []})["moves"] if move["after_s"]]


def name_of(document):
    """The work, its grid, its cut, and the ranks that were slowed."""
    configuration = document["configuration"]
    problem = document.get("problem")
    work = problem_name(problem) if problem else file_name(document["system"]["matrix"])
    slowed = [
        f"rank {slow['rank']} by {slow['factor']:g}" + (f" from product {slow['first_product']} on" if slow["first_product"] else "")
        for slow in (document.get("slow_ranks") or {"ranks": []})["ranks"]
    ]
    cut = configuration["cut"]
    cut = f"file:{file_name(cut)}" if cut.startswith("file:") else cut
    parts = [work, configuration["grid"]["name"], f"cut {cut}"]
    if slowed:
        parts.append(f"slowed {', '.join(slowed)}")
    if moves_of(document):
        parts.append("repartitioned")
    return ", ".join(parts)


def has_speeds(document):
    return bool(document["configuration"].get("speed_trial"))


def uneven_runs(material):
    """[(name, document)], each configuration once; first those that measured the speeds, whose maps are pairs."""
    documents = [*(run.document for run in material.runs), *(study.document for study in material.inputs.solves)]
    found = {}
    for document in filter(is_uneven, documents):
        found.setdefault(name_of(document), document)
    return sorted(found.items(), key=lambda item: not (has_speeds(item[1]) or moves_of(item[1])))


def why_no_speeds(material):
    if uneven_runs(material):
        return ""
    return "no run with --cut speed, --cut file:FILE or --slow-rank, or that --rebalance repartitioned, has timed its phases"


@dataclasses.dataclass(frozen=True)
class RankState:
    """speed: nonzeros per second; share: of all nonzeros; waiting: share of its time."""

    speed: float
    share: float
    waiting: float


def states_before(document):
    """Even pieces at the speeds that the run measured: every rank waits for the slowest product."""
    speeds = document["configuration"]["speed_trial"]["speeds"]
    return [RankState(speed, 1 / len(speeds), 1 - min(speeds) / speed) for speed in speeds]


def product_count(entry):
    return entry["phases"]["summation"]["calls"]


def states_after(document):
    """As the run has measured them."""
    entries = document["phases"]["ranks"]
    nonzeros = [rank["nonzeros"] for rank in document["setup"]["ranks"]]
    whole = sum(nonzeros) or 1
    return [
        RankState(
            count * product_count(entry) / (entry["phases"]["multiply"]["seconds"] or float("inf")),
            count / whole,
            sum(phase["waited_clocks"] for phase in entry["phases"].values()) / entry["region_clocks"],
        )
        for entry, count in zip(entries, nonzeros)
    ]


def states_around(document, move, when):
    """Before or after the matrix was repartitioned. Waiting: in products, for the slowest one."""
    products = product_count(document["phases"]["ranks"][0]) / document["problem"]["niter"]
    counts = [rank[f"nonzeros_{when}"] for rank in move["ranks"]]
    seconds = [rank[f"{when}_s"] for rank in move["ranks"]]
    slowest_s = max(seconds)
    return [
        RankState(count * products / (own_s or float("inf")), count / sum(counts), 1 - own_s / slowest_s)
        for count, own_s in zip(counts, seconds)
    ]


def achieved_speed(document):
    """Of all ranks together, by the slowest product."""
    entries = document["phases"]["ranks"]
    slowest_s = max(entry["phases"]["multiply"]["seconds"] for entry in entries)
    nonzeros = sum(rank["nonzeros"] for rank in document["setup"]["ranks"])
    return nonzeros * product_count(entries[0]) / slowest_s if slowest_s else 0.0


# Name, unit of the scale, its format, and the value of a rank.
MAPS = (
    ("speed", "Billion nonzeros per s", "{:.3g}", lambda state: state.speed / BILLION),
    ("share", "Share of the nonzeros, %", "{:.1f}", lambda state: 100 * state.share),
    ("waiting", "Waiting, % of the time", "{:.1f}", lambda state: 100 * state.waiting),
)


def plane(document, states, title, quantity):
    _, unit, form, value_of = quantity
    grid = document["configuration"]["grid"]
    cells = {}
    for entry, state in zip(document["phases"]["ranks"], states):
        value = value_of(state)
        tip = f"rank {entry['rank']}: process column {entry['process_column']}, process row {entry['process_row']}\n{unit}: {value:.4g}"
        cells[entry["process_row"], entry["process_column"]] = Cell(value, [f"rank {entry['rank']}", form.format(value)], tip)
    return HeatPanel(
        title=title,
        x_label="Process column",
        y_label="Process row",
        columns=[str(column) for column in range(grid["columns"])],
        rows=[str(row) for row in range(grid["rows"])],
        cells=cells,
        scale_label=unit,
        scale_format=form,
    )


def states_of(document):
    """[(when, [state of each rank])]: before and after the last cut, or as it ran."""
    if moves := moves_of(document):
        when = f"outer iteration {moves[-1]['after_outer_iteration']}"
        return [(f"up to {when}", states_around(document, moves[-1], "before")), (f"after {when}", states_around(document, moves[-1], "after"))]
    before = [("with even pieces", states_before(document))] if has_speeds(document) else []
    return [*before, ("as it ran", states_after(document))]


def maps_of(number, document):
    """Before and after beside each other, in the same colours."""
    states = states_of(document)
    maps = []
    for quantity in MAPS:
        what = quantity[0]
        pair = [plane(document, ranks, f"Run {number}: {what} {when}", quantity) for when, ranks in states]
        put_beside(pair)
        maps += pair
    return maps


def speeds_row(name, document):
    trial = document["configuration"].get("speed_trial") or {}
    keys = ("ideal_nonzeros_per_s", "reachable_nonzeros_per_s", "even_nonzeros_per_s")
    # With more than one cut there is no one share of a rank.
    achieved = "" if moves_of(document) else f"{achieved_speed(document) / BILLION:.3g}"
    gained = "; ".join(
        f"after {move['after_outer_iteration']}: {move['before_s']:.3g} -> {move['after_s']:.3g} s in {move['cost_s']:.3g} s, gained {move['gained_s']:.3g} s"
        for move in moves_of(document)
    )
    return [name, *(f"{trial[key] / BILLION:.3g}" if trial else "" for key in keys), achieved, gained]


def speeds(material):
    runs = list(enumerate(uneven_runs(material), 1))
    shown = runs[:MOST_RUNS]
    heads = ["run", "", "sum of own speeds", "reachable", "even pieces", "achieved", "repartitioned (slowest products of an outer iteration)"]
    rows = [[str(number), *speeds_row(name, document)] for number, (name, document) in runs]
    names = " ".join(f"Run {number}: {name}." for number, (name, _) in shown)
    return Figure(
        [panel for number, (_, document) in shown for panel in maps_of(number, document)],
        f"{names} 'With even pieces' uses the speeds that the run measured before it cut the matrix: every rank waits for the slowest "
        "product. 'As it ran' divides nonzeros by the time of the products, and has the waiting in all phases. Around a new cut, the maps "
        "show the products of an outer iteration, and waiting for the slowest rank.",
        Table("Speed of all ranks together, billion nonzeros per s", heads, rows, range(2, 6)),
    )
