"""The record of the last check on the `tasks` table, and the function that carries one out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from taskgate.aws import guarded
from taskgate.aws.clients import available
from taskgate.aws.expressions import Names
from taskgate.aws.values import Value, int_of, n, s, text_of
from taskgate.proofs import Proof, Proofs, from_text, to_text
from taskgate.settings import Environment

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final[dict[str, Value]] = {"pk": s("RECONCILE"), "sk": s("RECONCILE")}


class DynamoProofs:
    """The `ProofStore` port: one item, of which the room and the function each write their own part."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def read(self) -> Proofs:
        item = guarded.get(self._client, self._table, KEY) or {}
        return Proofs(
            asked_at=int_of(item, "asked_at") or None,
            asked_by=text_of(item, "asked_by"),
            begun_at=int_of(item, "begun_at") or None,
            last=from_text(text_of(item, "last")) if "last" in item else None,
        )

    def asked(self, at: int, by: str) -> None:
        self._set(asked_at=n(at), asked_by=s(by))

    def begun(self, at: int) -> None:
        self._set(begun_at=n(at))

    def keep(self, proof: Proof) -> None:
        self._set(last=s(to_text(proof)))

    def _set(self, **values: Value) -> None:
        names = Names()
        sets = ", ".join(f"{names.name(a)} = {names.value(v)}" for a, v in values.items())
        with available():
            self._client.update_item(
                TableName=self._table,
                Key=KEY,
                UpdateExpression=f"SET {sets}",
                **names.arguments(),
            )


def prover_of(environment: Environment) -> str:
    """The name of the deployment's function."""
    return f"{environment.prefix}-reconcile"


class LambdaProver:
    """The `Prover` port: the function of the schedule, woken once more. Its runs never overlap."""

    def __init__(self, client: Any, *, function: str) -> None:
        self._client, self._function = client, function

    def start(self) -> None:
        with available():
            self._client.invoke(FunctionName=self._function, InvocationType="Event")
