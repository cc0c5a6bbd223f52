"""Figure of what the storage of a matrix is worth: one problem's product with several kernels, and the share of its limit that each reaches."""

import dataclasses

from . import style
from .figures_solves import file_name
from .panels import Axis, BarPanel, Bars, Figure, Table

MOST_PROBLEMS = 8
OPERATOR = "npb-factored:"


@dataclasses.dataclass(frozen=True)
class Product:
    """Of all ranks together, by the slowest one. limit: what reading its bytes, or its arithmetic, takes at least."""

    seconds: float
    limit_s: float
    bytes: float


def problem_of(document):
    """The matrix, that of the benchmark by its order, with its ranks and threads."""
    configuration = document["configuration"]
    matrix = (document.get("system") or {}).get("matrix", OPERATOR)
    order = document["problem"]["n"] if document.get("problem") else document["setup"]["n"]
    name = f"NPB {order}" if matrix.startswith(OPERATOR) else file_name(matrix).removesuffix(".mtx").replace(":", ": ")
    counts = [f"{count} {word}" for count, word in ((configuration["ranks"], "ranks"), (configuration["threads"], "threads")) if count > 1]
    return ", ".join([name, *counts])


def storage_of(document):
    """The kernel; of an operator, which has no matrix for one, the operator."""
    matrix = (document.get("system") or {}).get("matrix", "")
    return matrix.rpartition(":")[0] if matrix.startswith(OPERATOR) else document["configuration"]["kernel"]


def product_of(document):
    entry = document["roofline"]["phases"]["multiply"]
    steps = document["phases"]["cg_steps"]
    return Product(entry["measured_s"] / steps, entry["limit_s"] / steps, entry["bytes"] / steps)


def median_product(products):
    """The one with the median time; of an even number the lower of the middle two."""
    return sorted(products, key=lambda product: product.seconds)[(len(products) - 1) // 2]


def products_of(material):
    """{problem: {kernel: product}}, of problems with several kernels."""
    documents = [*(run.document for run in material.runs), *(study.document for study in material.inputs.solves)]
    found = {}
    for document in documents:
        if document.get("roofline") and document["phases"]["cg_steps"]:
            found.setdefault(problem_of(document), {}).setdefault(storage_of(document), []).append(product_of(document))
    return {
        problem: {kernel: median_product(own) for kernel, own in products.items()} for problem, products in found.items() if len(products) > 1
    }


def why_no_storage(material):
    return "" if products_of(material) else "no problem was run by several kernels with --roofline"


def tip(problem, kernel, product):
    return (
        f"{kernel}, {problem}\n{1e3 * product.seconds:.4g} ms for a product, {product.bytes / 1e6:.4g} MB\n"
        f"limit {1e3 * product.limit_s:.4g} ms: {100 * product.limit_s / product.seconds:.3g} % of it reached"
    )


def bars_of(found, kernels, value_of):
    """One series for each kernel, over the problems."""
    bars = []
    for index, kernel in enumerate(kernels):
        own = [(problem, products.get(kernel), products) for problem, products in found]
        values = [value_of(product, products) if product else None for _, product, products in own]
        tips = [tip(problem, kernel, product) if product else "" for problem, product, _ in own]
        bars.append(Bars(kernel, values, style.series_style(index)[0], tips))
    return bars


def speed_over_slowest(product, products):
    return max(other.seconds for other in products.values()) / product.seconds


def share_of_limit(product, _products=None):
    return 100 * product.limit_s / product.seconds


def table_of(found, kernels):
    rows = [
        [problem, kernel, f"{1e3 * products[kernel].seconds:.4g}", f"{products[kernel].bytes / 1e6:.4g}", f"{share_of_limit(products[kernel]):.3g}"]
        for problem, products in found
        for kernel in kernels
        if kernel in products
    ]
    return Table("Products", ["problem", "kernel", "ms", "MB read", "% of the limit"], rows, (2, 3, 4))


def storage(material):
    found = list(products_of(material).items())[:MOST_PROBLEMS]
    kernels = list(dict.fromkeys(kernel for _, products in found for kernel in products))
    problems = Axis("", "category", names=[problem for problem, _ in found])
    panels = [
        BarPanel("Speed-up over the slowest kernel", problems, Axis("Speed-up, times", from_zero=True), bars_of(found, kernels, speed_over_slowest)),
        BarPanel("Share of the limit", problems, Axis("Share of the limit, %", from_zero=True), bars_of(found, kernels, share_of_limit)),
    ]
    note = (
        "Bars show the product of the slowest rank in runs with --roofline; of several runs, the one with the median time. The limit is "
        "the time to read the kernel's matrix and vectors at the bandwidth of the same run, or the time of its arithmetic. npb-factored "
        "stores the vectors of the matrix's outer products instead of their sum."
    )
    return Figure(panels, note, table_of(found, kernels))
