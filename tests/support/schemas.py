"""Validators for what commands write and read, by cg2d schema."""

import functools
import json

import jsonschema

from program_runner import SUCCESS, run_program


@functools.cache
def schema_of(document):
    outcome = run_program(0, "schema", document)
    assert outcome.exit_code == SUCCESS, outcome
    schema = json.loads(outcome.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def validator_of(document):
    """document: as cg2d schema takes it."""
    return jsonschema.Draft202012Validator(schema_of(document))
