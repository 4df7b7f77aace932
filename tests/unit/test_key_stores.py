"""Both key stores keep the same promises."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.keys import DynamoKeys
from taskgate.keystore import KeyStore
from taskgate.task import Owner
from taskgate.testing import aws_resources
from taskgate.testing.conformance.keys import KEY, KeysConformance
from taskgate.testing.memory.keys import MemoryKeys


class TestMemoryKeys(KeysConformance):
    @pytest.fixture
    def keys(self) -> KeyStore:
        return MemoryKeys()


class TestDynamoKeysOnMoto(KeysConformance):
    @pytest.fixture
    def keys(self) -> Iterator[DynamoKeys]:
        with mock_aws():
            environment = aws_resources.create("keys")
            yield DynamoKeys(clients.dynamodb(), table=environment.tasks_table)

    def test_a_key_of_before_there_were_versions_can_still_be_changed(
        self, keys: DynamoKeys
    ) -> None:
        keys.put_key(KEY)
        keys._client.update_item(
            TableName="keys-tasks",
            Key={"pk": {"S": f"KEY#{KEY.id}"}, "sk": {"S": "KEY"}},
            UpdateExpression="REMOVE #version, #trail, #owner",
            ExpressionAttributeNames={f"#{n}": n for n in ("version", "trail", "owner")},
        )
        old = keys.get_key(KEY.id)
        assert old is not None
        assert (old.version, old.owner) == (0, Owner("acme", "ada"))
        assert keys.change_key(old)
        assert not keys.change_key(replace(old, revoked=True))
