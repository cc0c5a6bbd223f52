"""Checks JSON of files against the schemas of cg2d, so that what is drawn has the right types."""

import functools
import math

from .verdict import find_program, json_of

TYPES = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip


def compiled(schema, named=None):
    """A check of one part of a schema: a function of a value that returns nothing, or (place, complaint), where "{}" in the complaint
    stands for the place. A sweep has hundreds of thousands of values: the schema is gone through once. This is the part of JSON Schema
    (draft 2020-12) that the schemas of cg2d make use of, except for lengths."""
    named = schema.get("$defs", named)
    if "$ref" in schema:
        return compiled(named[schema["$ref"].removeprefix("#/$defs/")], named)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    classes = sum((TYPES[name] for name in types), ())
    valid = schema.get("enum", [schema["const"]] if "const" in schema else None)
    least, above = schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf)
    parts = {key: compiled(part, named) for key, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties")
    others = compiled(others, named) if isinstance(others, dict) else None
    required = schema.get("required", [])
    of_items = compiled(schema["items"], named) if "items" in schema else None
    choices = [compiled(choice, named) for choice in schema.get("anyOf", ())]

    def check(value):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if types and "boolean" not in types and isinstance(value, bool) or types and not isinstance(value, classes):
            return "", f"{{}} is not of type {' or '.join(types)}"
        if valid is not None and value not in valid:
            return "", "{} has no valid value"
        if is_number and not (value >= least and value > above):
            return "", "{} is out of range"
        if isinstance(value, dict):
            for key in required:
                if key not in value:
                    return "", f"no {key!r} in {{}}"
            for key, item in value.items():
                part = parts.get(key, others)
                if part and (found := part(item)):
                    return f".{key}{found[0]}", found[1]
        elif of_items and isinstance(value, list):
            for index, item in enumerate(value):
                if found := of_items(item):
                    return f"[{index}]{found[0]}", found[1]
        found = None
        for choice in choices:
            if not (found := choice(value)):
                return None
        return found

    return check


class Schema:
    """Newer programs may add keys."""

    def __init__(self, schema):
        self._check = compiled(schema)

    def complaint(self, value):
        """Where the value breaks the schema, and how; empty where it does not."""
        found = self._check(value)
        return found[1].format(found[0].lstrip(".") or "it") if found else ""


@functools.cache
def schema_of(name):
    """Of a document, as cg2d schema prints it."""
    return Schema(json_of(find_program(), ["schema", name], {}, doing="asking for a schema"))
