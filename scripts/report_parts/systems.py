"""Results of a user's own system (cg2d sweep FILE, or --operator) in the form of those of the benchmark, for the same figures."""

def is_system(document):
    return isinstance(document, dict) and "system" in document


def name_of(document):
    """As cg2d's verdicts name it, where preconditioner and form of CG are the usual ones."""
    system = document["system"]
    unusual = [system[key] for key, usual in (("preconditioner", "none"), ("variant", "classic")) if system[key] != usual]
    unusual += [f"symmetrized to {system['symmetrize']}"] if "symmetrize" in system else []
    count = system["most_iterations"]
    return ", ".join([system["matrix"], f"{count} iteration{'' if count == 1 else 's'}", *unusual])


def as_run(document):
    """The result of a sweep's line as that of a run: one repeat without outer steps or reference. Phases only where a matrix
    was assembled: others have phases of their own. Throws KeyError, TypeError."""
    result, setup, quiet = document["result"], document["setup"], document["quiet"]
    problem = {"class": "", "n": setup["n"], "nonzer": 0, "niter": 1, "shift": 0.0, "reference_zeta": None}
    has_matrix = document["system"]["is_assembled"]
    reasons = [quiet["reason"] + ""] if quiet["disturbed"] else []
    return {
        **document,
        "problem": {**problem, "system": name_of(document)},
        "configuration": {**document["configuration"], **{key: document["sweep"]["configuration"][key] for key in ("cut", "form")}},
        "result": {**result, "repeats": {"times_s": [result["time_s"]]}, "verified": None},
        "quiet": {"repeats": [{"reasons": reasons}]},
        "phases": document["phases"] if has_matrix else None,
        "outer_steps": [],
    }
