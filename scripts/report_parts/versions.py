"""Results of earlier schema versions in the form of the present one."""

import copy

# The present one last.
SCHEMA_VERSIONS = (1, 2)
SOLVE_SCHEMA_VERSIONS = (1, 2)
# Keys that came without a new version: {part of a result: {key: what stands for it where the program did not know it}}.
LATER_KEYS = {"out_of_core": {"memory_limit_bytes": None}}


def completed(document):
    """The same result with the keys that its program did not know."""
    parts = {name: {**keys, **document[name]} for name, keys in LATER_KEYS.items() if isinstance(document.get(name), dict)}
    return {**document, **parts} if parts else document


def upgraded_scaling(document):
    """The same of cg2d scaling. Before version 6 there was one cut, and what an arrangement is now had that name. Throws
    AttributeError, KeyError, TypeError for what is no result."""
    if document["schema_version"] >= 6:
        return document
    document = copy.deepcopy(document)
    for way in document["ways"]:
        if "cut" in way:
            way["arrangement"] = way.pop("cut")
    return document


def upgraded_solve(document):
    """The same of cg2d solve, or of a system in a sweep. In version 1 arrangements had the name of cuts, and the cut of a sweep's line
    was its form where there is no matrix. Throws AttributeError, KeyError, TypeError for what is no result."""
    if document["schema_version"] != 1:
        return document
    document = copy.deepcopy(document)
    document["schema_version"] = SOLVE_SCHEMA_VERSIONS[-1]
    configuration = document["configuration"] or {}
    if "matrix_free_cut" in configuration:
        configuration["matrix_free_arrangement"] = configuration.pop("matrix_free_cut")
    if "sweep" in document:
        asked = document["sweep"]["configuration"]
        has_matrix = document["system"]["is_assembled"]
        asked["form"] = "matrix" if has_matrix else asked["cut"]
        asked["cut"] = asked["cut"] if has_matrix else "even"
    return document


def upgraded(document):
    """The same result in the present version. Version 1 named hosts, and knew neither the machine's quiet nor the origin of a
    result: these are null. Throws AttributeError, KeyError, TypeError, ValueError for what is no result."""
    document = completed(document)
    if document["schema_version"] == SCHEMA_VERSIONS[-1]:
        return document
    document = copy.deepcopy(document)
    document["schema_version"] = SCHEMA_VERSIONS[-1]
    document["quiet"] = document["provenance"] = None
    if environment := document["environment"]:
        hosts = [node.pop("host") for node in environment["nodes"]]
        for host, node in zip(hosts, environment["nodes"]):
            node.update(name=host, governor=None, numa_nodes=None, load_average=None)
        for place in environment["binding"]:
            place["node"] = hosts.index(place.pop("host"))
    if "sweep" in document:
        document["sweep"]["attempt"] = 1
    return document
