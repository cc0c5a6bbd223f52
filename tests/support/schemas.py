"""Validators for the results of studies and solves, whose schemas refer to that of a run."""

import json

import jsonschema

from program_runner import PROJECT, SCHEMA


def validator_of(name):
    """A schema, wherever it is in cg, beside which that of a run lies where both are installed."""
    (path,) = (PROJECT / "cg").rglob(name)
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    beside = {path.with_name(SCHEMA.name).as_uri(): json.loads(SCHEMA.read_text())}
    resolver = jsonschema.RefResolver(path.as_uri(), schema, store=beside)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)
