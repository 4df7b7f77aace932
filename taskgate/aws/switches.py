"""The switches on the `tasks` table: one item, without an expiry, that no template knows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from taskgate.aws import guarded
from taskgate.aws.values import Item, Value, int_of, n, s, text_of
from taskgate.switches import Act, Kind, Switch, Switches

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final[dict[str, Value]] = {"pk": s("SWITCHES"), "sk": s("SWITCHES")}


class DynamoSwitches:
    """The `SwitchStore` port."""

    def __init__(self, client: DynamoDBClient, *, table: str) -> None:
        self._client, self._table = client, table

    def read_switches(self) -> Switches:
        item = guarded.get(self._client, self._table, KEY)
        return _decode(item) if item else Switches()

    def write_switches(self, switches: Switches) -> bool:
        return guarded.put_version(self._client, self._table, _encode(switches), switches.version)


def _encode(switches: Switches) -> dict[str, Value]:
    text = json.dumps([asdict(one) for one in switches.by_key.values()])
    return {**KEY, "version": n(switches.version + 1), "switches": s(text)}


def _decode(item: Item) -> Switches:
    found = [_switch(one) for one in json.loads(text_of(item, "switches"))]
    return Switches(int_of(item, "version"), {one.key: one for one in found})


def _switch(one: dict[str, Any]) -> Switch:
    acts = tuple(Act(**act) for act in one["acts"])
    return Switch(**{**one, "kind": Kind(one["kind"]), "acts": acts})
