"""The contract against the deployed local stack: ``make contract``."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from taskgate.apikeys import issue
from taskgate.aws.keys import DynamoKeys
from taskgate.client import Taskgate
from taskgate.local import LocalStack
from taskgate.principal import SCOPES, USER_SCOPES
from taskgate.task import Owner
from tests.contract.asking import Plan, Run, ask

EXAMPLES: Final = 5
"""A route and phase; the test in this folder asks more, over ports in memory."""
SECONDS: Final = 900
MANY: Final = 1000
CALLERS: Final = {"owner": USER_SCOPES, "operator": SCOPES}
GATEWAYS_OWN: Final = ("unsupported_method", "allow_header_conformance")
"""HTTP API answers an unknown method with its own 404 and without `Allow`, as the document says."""


def main() -> int:
    """Print the cases of each caller; 1 when any answer was not as the document promises."""
    with tempfile.TemporaryDirectory() as folder, LocalStack(say=print) as stack:
        stack.start_worker("cpu")
        runs = [_asked(stack, Path(folder), who) for who in CALLERS]
    good = all(run.good for run in runs)
    print(f"contract: {sum(run.cases for run in runs)} cases, {'kept' if good else 'BROKEN'}")
    return 0 if good else 1


def _asked(stack: LocalStack, folder: Path, who: str) -> Run:
    keys = DynamoKeys(stack.client("dynamodb"), table=stack.environment.tasks_table)
    key = issue(keys, Owner("contract", who), CALLERS[who], max_pending=MANY)
    plan = Plan(
        url=stack.api_url,
        key=key,
        task_ids={"": _seeded(stack.api_url, key)},
        examples=EXAMPLES,
        seconds=SECONDS,
        without=GATEWAYS_OWN,
    )
    started = time.monotonic()
    run = ask(plan, folder)
    print(f"contract: {run.cases} cases as {who} in {time.monotonic() - started:.0f} s")
    if not run.good:
        print(run.report)
    return run


def _seeded(url: str, key: str) -> list[str]:
    """One task that ended well, one that was canceled, one that waits for its time."""
    with Taskgate(url, key) as taskgate:
        done = taskgate.submit("embed_document", {"text": "a lighthouse at dusk"})
        done.wait(timeout=60)
        canceled = taskgate.submit("text_to_image", {"prompt": "a lighthouse"})
        canceled.cancel()
        later = taskgate.submit("text_to_image", {"prompt": "a lighthouse"}, delay=3600)
        return [done.id, canceled.id, later.id]


if __name__ == "__main__":
    sys.exit(main())
