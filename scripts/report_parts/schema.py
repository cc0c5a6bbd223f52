"""Checks JSON of files against the schemas of cg2d, so that what is drawn has the right types."""

import functools
import math

from .verdict import find_program, json_of

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


# Each of these makes a check of one part of a schema: a function of a value that returns nothing, or (place, complaint), where
# "{}" in the complaint stands for the place. A sweep has hundreds of thousands of values: the schema is gone through once.


def type_check(_root, schema):
    names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    complaint = "", f"{{}} is not of type {' or '.join(names)}"
    return lambda value: None if any(has_type(value, name) for name in names) else complaint


def value_check(_root, schema):
    valid = schema.get("enum", [schema.get("const")])
    return lambda value: None if value in valid else ("", "{} has no valid value")


def range_check(_root, schema):
    least, above = schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf)

    def check(value):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return ("", "{} is out of range") if is_number and not (value >= least and value > above) else None

    return check


def members_check(root, schema):
    parts = {key: root.check_of(part) for key, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    others = root.check_of(others) if isinstance(others, dict) else None
    required = schema.get("required", [])

    def check(value):
        if not isinstance(value, dict):
            return None
        for key in required:
            if key not in value:
                return "", f"no {key!r} in {{}}"
        for key, item in value.items():
            part = parts.get(key, others)
            if part and (found := part(item)):
                return f".{key}{found[0]}", found[1]
        return None

    return check


def items_check(root, schema):
    part = root.check_of(schema["items"])

    def check(value):
        if isinstance(value, list):
            for index, item in enumerate(value):
                if found := part(item):
                    return f"[{index}]{found[0]}", found[1]
        return None

    return check


def choices_check(root, schema):
    choices = [root.check_of(choice) for choice in schema["anyOf"]]

    def check(value):
        found = None
        for choice in choices:
            found = choice(value)
            if not found:
                return None
        return found

    return check


# The part of JSON Schema (draft 2020-12) that the schemas of cg2d make use of, except for lengths.
CHECKS = (
    (("type",), type_check),
    (("const", "enum"), value_check),
    (("minimum", "exclusiveMinimum"), range_check),
    (("properties", "additionalProperties", "required"), members_check),
    (("items",), items_check),
    (("anyOf",), choices_check),
)


def metrics_in(schema, path=()):
    """(label, unit, path) of each figure that cg2d compare compares; None in a path: each item of a list."""
    if schema.get("metric"):
        yield schema["label"], schema["unit"], path
    for part in schema.get("anyOf", ()):
        yield from metrics_in(part, path)
    for key, part in schema.get("properties", {}).items():
        yield from metrics_in(part, (*path, key))
    if "items" in schema:
        yield from metrics_in(schema["items"], (*path, None))


def values_at(value, path):
    """All values that a document has at such a path."""
    if value is None or not path:
        return [] if value is None else [value]
    parts = value if path[0] is None else [value.get(path[0])]
    return [found for part in parts for found in values_at(part, path[1:])]


class Schema:
    """Newer programs may add keys."""

    def __init__(self, schema):
        self._check = self.check_of(schema)
        self.metrics = list(metrics_in(schema))

    def complaint(self, value):
        """Where the value breaks the schema, and how; empty where it does not."""
        found = self._check(value)
        return found[1].format(found[0].lstrip(".") or "it") if found else ""

    def check_of(self, schema):
        checks = [make(self, schema) for keys, make in CHECKS if any(key in schema for key in keys)]

        def check(value):
            for one in checks:
                if found := one(value):
                    return found
            return None

        return checks[0] if len(checks) == 1 else check


@functools.cache
def schema_of(name):
    """Of a document, as cg2d schema prints it."""
    return Schema(json_of(find_program(), ["schema", name], {}, doing="asking for a schema"))
