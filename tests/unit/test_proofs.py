"""The record of the last check: in memory and on DynamoDB it is the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from taskgate.aws import clients
from taskgate.aws.proofs import DynamoProofs, LambdaProver, prover_of
from taskgate.proofs import Finding, Proof, Proofs, ProofStore
from taskgate.settings import stage
from taskgate.testing import aws_resources
from taskgate.testing.memory.proofs import MemoryProofs
from tests.unit.functions.api_world import ENVIRONMENT

PROOF = Proof(
    began_at=1,
    ended_at=2,
    finished=False,
    tasks=3,
    books=4,
    unaccounted=5,
    kinds={"no_clock": 6},
    findings=(Finding(kind="no_clock", found="é", expected="b", task_id="t", owner="a#b"),),
)


@pytest.fixture(params=["memory", "moto"])
def proofs(request: pytest.FixtureRequest) -> Iterator[ProofStore]:
    if request.param == "memory":
        yield MemoryProofs()
        return
    with mock_aws():
        environment = aws_resources.create("proofs")
        yield DynamoProofs(clients.dynamodb(), table=environment.tasks_table)


def test_nothing_is_kept_before_the_first_run(proofs: ProofStore) -> None:
    assert proofs.read() == Proofs()


def test_each_part_is_written_by_itself_and_reads_back(proofs: ProofStore) -> None:
    proofs.keep(PROOF)
    proofs.asked(7, "olga/k9")
    proofs.begun(8)
    assert proofs.read() == Proofs(asked_at=7, asked_by="olga/k9", begun_at=8, last=PROOF)


def test_a_run_takes_the_place_of_the_one_before(proofs: ProofStore) -> None:
    for proof in (PROOF, Proof(began_at=9, ended_at=10, finished=True)):
        proofs.keep(proof)
    assert proofs.read().last == Proof(began_at=9, ended_at=10, finished=True)


def test_the_function_of_the_schedule_is_woken_and_not_waited_for() -> None:
    asked: list[dict[str, str]] = []

    class Client:
        def invoke(self, **request: str) -> None:
            asked.append(request)

    LambdaProver(Client(), function="f").start()
    assert asked == [{"FunctionName": "f", "InvocationType": "Event"}]


def test_the_functions_name_is_that_of_its_deployment() -> None:
    assert prover_of(ENVIRONMENT) == f"{stage('local').prefix}-reconcile"
