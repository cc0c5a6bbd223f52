"""Validators for the results of studies and solves, whose schemas refer to that of a run."""

import json

import jsonschema

from program_runner import PROJECT, SCHEMA


def study_validator(name):
    """name: of a schema in cg/studies."""
    return validator_of("studies", name)


def validator_of(room, name):
    """A schema beside which that of a run lies where both are installed."""
    path = PROJECT / "cg" / room / name
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    beside = {path.with_name(SCHEMA.name).as_uri(): json.loads(SCHEMA.read_text())}
    resolver = jsonschema.RefResolver(path.as_uri(), schema, store=beside)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)
