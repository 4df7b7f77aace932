"""The local stack: an AWS emulator, the real stacks deployed to it, and real workers.

No Docker and no account. `LocalStack` is the whole of it::

    with LocalStack() as stack:
        stack.start_worker("cpu")
        print(stack.api_url)
"""

from __future__ import annotations

from taskgate.local.stack import LocalStack, LocalStackError

__all__ = ["LocalStack", "LocalStackError"]
