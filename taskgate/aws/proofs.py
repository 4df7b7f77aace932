"""The record of the last check on the `tasks` table, and the function that carries one out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from taskgate.aws.clients import available
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
        with available():
            answer = self._client.get_item(TableName=self._table, Key=KEY, ConsistentRead=True)
        item = answer.get("Item", {})
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
        names: Any = {f"#{name}": name for name in values}
        sets = ", ".join(f"#{name} = :{name}" for name in values)
        with available():
            self._client.update_item(
                TableName=self._table,
                Key=KEY,
                UpdateExpression=f"SET {sets}",
                ExpressionAttributeNames=names,
                ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
            )


def prover_of(environment: Environment) -> str:
    """The name of the deployment's function."""
    return f"taskgate-{environment.stage}-{environment.cell}-reconcile"


class LambdaProver:
    """The `Prover` port: the function of the schedule, woken once more. Its runs never overlap."""

    def __init__(self, client: Any, *, function: str) -> None:
        self._client, self._function = client, function

    def start(self) -> None:
        with available():
            self._client.invoke(FunctionName=self._function, InvocationType="Event")
