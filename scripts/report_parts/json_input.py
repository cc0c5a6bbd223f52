"""Reads JSON from files that may hold anything: checks it against a schema, so that what is drawn has the right types."""

import functools
import json
import math
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
MOST_LEVELS = 100  # files of cg2d have 10 at most
MOST = 1e100  # beyond, sums and ratios of what is drawn leave the range of numbers


def finite(text):
    value = float(text)
    if not math.isfinite(value) or abs(value) > MOST or 0 < abs(value) < 1 / MOST:
        raise ValueError(f"{text[:20]} is out of range")
    return value


def whole(text):
    finite(text)
    return int(text)


def cleaned(value, levels=MOST_LEVELS):
    """The same value; halves of characters, which no file can hold, replaced."""
    if levels == 0:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels")
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [cleaned(item, levels - 1) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item, levels - 1) for key, item in value.items()}
    return value


def json_from(text):
    """Throws ValueError."""
    try:
        return cleaned(json.loads(text, parse_constant=finite, parse_float=finite, parse_int=whole))
    except RecursionError:
        raise ValueError(f"nested in more than {MOST_LEVELS} levels") from None


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def has_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


def number_is_within(value, schema):
    least, above = schema.get("minimum", -math.inf), schema.get("exclusiveMinimum", -math.inf)
    return least <= value <= schema.get("maximum", math.inf) and value > above


class Schema:
    """The part of JSON Schema (draft 2020-12) that the schemas of cg2d make use of, except for lengths and for names of keys:
    newer programs may add keys. Keys that a schema requires may be missing, as older programs have fewer, unless needs_keys."""

    def __init__(self, schema, needs_keys=False):
        self._root = schema
        self._needs_keys = needs_keys

    def complaint(self, value):
        """Where the value breaks the schema, and how; empty where it does not."""
        return self._complaint(value, self._root, "")

    def _complaint_of_reference(self, value, reference, place):
        """reference: "#/$defs/name", or of another schema, which is installed beside this one."""
        file, _, path = reference.partition("#/")
        if file:
            return schema_of(file, self._needs_keys)._complaint_of_reference(value, f"#/{path}", place)
        schema = self._root
        for name in path.split("/"):
            schema = schema[name]
        return self._complaint(value, schema, place)

    def _complaint(self, value, schema, place):
        if "$ref" in schema:
            complaint = self._complaint_of_reference(value, schema["$ref"], place)
            if complaint:
                return complaint
        return self._own_complaint(value, schema, place) or self._choice_complaint(value, schema, place)

    def _own_complaint(self, value, schema, place):
        types = schema.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(has_type(value, name) for name in types):
            return f"{place or 'it'} is not of type {' or '.join(types)}"
        if "const" in schema and value != schema["const"] or "enum" in schema and value not in schema["enum"]:
            return f"{place} has no valid value"
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not number_is_within(value, schema):
            return f"{place} is out of range"
        if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
            return f"{place} has no valid value"
        if isinstance(value, dict):
            return self._member_complaint(value, schema, place)
        if isinstance(value, list) and "items" in schema:
            complaints = (self._complaint(item, schema["items"], f"{place}[{k}]") for k, item in enumerate(value))
            return next(filter(None, complaints), "")
        return ""

    def _member_complaint(self, value, schema, place):
        missing = [key for key in schema.get("required", []) if key not in value] if self._needs_keys else []
        if missing:
            return f"no {missing[0]!r}{' in ' + place if place else ''}"
        for key, item in value.items():
            part = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            complaint = self._complaint(item, part, f"{place}.{key}".lstrip(".")) if isinstance(part, dict) else ""
            if complaint:
                return complaint
        return ""

    def _choice_complaint(self, value, schema, place):
        if "if" in schema:
            chosen = schema.get("else" if self._complaint(value, schema["if"], place) else "then", {})
            complaint = self._complaint(value, chosen, place)
            if complaint:
                return complaint
        for key in ("anyOf", "oneOf"):
            complaints = [self._complaint(value, choice, place) for choice in schema.get(key, [])]
            if complaints and all(complaints):
                return complaints[-1]
        return ""


@functools.cache
def schema_of(name, needs_keys=False):
    """name: of a file of cg2d, which stands beside this package where it is installed, and in a room in the sources."""
    installed = HERE.parent / name
    path = installed if installed.exists() else next((HERE.parent.parent / "cg").glob(f"*/{name}"))
    return Schema(json.loads(path.read_text(encoding="utf-8")), needs_keys)


def result_schema():
    return schema_of("run_result.schema.json")
