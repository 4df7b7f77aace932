"""The bodies that this room takes."""

from __future__ import annotations

from functions.api.bodies import (
    CancelBody,
    ExtendBody,
    PriorityBody,
    ReasonBody,
    RescheduleBody,
    SubmitBody,
)
from functions.api.upload_operations import UPLOAD, UPLOAD_ID_SCHEMA
from functions.api.uploads import UploadBody
from functions.http.shapes import REFERENCE, Schema, bodies_of, described, object_of, ref
from taskgate.catalog import CATALOG
from taskgate.uploads import WHOLE as WHOLE_INPUT


def requests() -> dict[str, Schema]:
    """Every body by name, the input of each type among them."""
    return {
        **_submit(),
        **_inputs(),
        **bodies_of(
            {
                "Cancel": CancelBody,
                "Reason": ReasonBody,
                "Extend": ExtendBody,
                "Priority": PriorityBody,
                "Reschedule": RescheduleBody,
                "UploadTerms": UploadBody,
            }
        ),
        "Upload": object_of(UPLOAD),
        "UploadedInput": described(
            object_of({WHOLE_INPUT: UPLOAD_ID_SCHEMA}), "An input in JSON that was uploaded."
        ),
    }


def _input_name(model: type) -> str:
    return model.__name__


def _inputs() -> dict[str, Schema]:
    """The input of each type, and the named parts of them."""
    found: dict[str, Schema] = {}
    for kind in CATALOG:
        schema = kind.input_model.model_json_schema(ref_template=REFERENCE)
        found |= schema.pop("$defs", {})
        found[_input_name(kind.input_model)] = schema
    return found


def _submit() -> dict[str, Schema]:
    """The body of a submit, and the named parts of it."""
    schema = SubmitBody.model_json_schema(ref_template=REFERENCE)
    inputs = [*(ref(_input_name(kind.input_model)) for kind in CATALOG), ref("UploadedInput")]
    schema["properties"]["type"]["enum"] = [kind.name for kind in CATALOG]
    schema["properties"]["input"] = {
        "anyOf": inputs,
        "description": "The task's input, by the schema of its type.",
    }
    return {**schema.pop("$defs", {}), "Submit": schema}
