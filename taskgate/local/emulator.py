"""Starts and stops the AWS emulator, ministack, on a free loopback port."""

from __future__ import annotations

import contextlib
import http.client
import socket
import time
from pathlib import Path
from typing import Any, Final

import boto3

from taskgate.local.process import Child, plain_variables
from taskgate.local.recording import RECORD

HOST: Final = "127.0.0.1"
ACCOUNT: Final = "000000000000"
REGION: Final = "us-east-1"
# The emulator knows this pair as the account's root. It guards nothing.
ACCESS_KEY: Final = "test"
SECRET: Final = "test"  # noqa: S105 - known to all
HEALTHY_WITHIN: Final = 90.0
LOG: Final = "emulator.log"
MODULE: Final = "taskgate.local.emulated"


class EmulatorError(Exception):
    """The AWS emulator did not start."""


class Emulator:
    """One emulator with all its files in one folder; `persist` keeps its state over restarts.

    With `record` it writes down every call that a function or a worker makes under its role.
    """

    def __init__(self, folder: Path, *, persist: bool = False, record: Path | None = None) -> None:
        self._folder = folder
        self._persist = persist
        self._record = record
        self._port_file = folder / "state" / "port"
        self._child, self._port = self._start()

    @property
    def endpoint_url(self) -> str:
        """Where every AWS client of this stack goes."""
        return f"http://{HOST}:{self._port}"

    @property
    def client_variables(self) -> dict[str, str]:
        """What an AWS client needs in its environment to reach the emulator and nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            # A developer's own profile must not decide where a local stack is deployed to.
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str) -> Any:
        """A boto3 client of one service here, whatever this process's own AWS settings are."""
        return boto3.client(
            service,  # type: ignore[call-overload]  # the stubs list services one by one
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET,
        )

    @property
    def pid(self) -> int:
        """The emulator's process id: a test may make the whole of AWS stand still."""
        return self._child.pid

    def stop(self) -> None:
        """Stop the emulator; with `persist` it writes its state on the way out."""
        self._child.stop()

    def _start(self) -> tuple[Child, int]:
        # Another process may take the port between our look and the emulator's bind.
        for _ in range(3):
            port = self._choose_port()
            child = Child(MODULE, variables=self._variables(port), log=self._folder / LOG)
            try:
                if _is_healthy(child, port):
                    self._port_file.write_text(str(port))
                    return child, port
            except BaseException:
                child.stop()
                raise
            child.stop()
        raise EmulatorError(f"The AWS emulator did not start:\n{child.last_lines()}")

    def _variables(self, port: int) -> dict[str, str]:
        scratch = self._folder / "tmp"
        state = self._folder / "state"
        for folder in (scratch, state / "s3"):
            folder.mkdir(parents=True, exist_ok=True)
        record = {RECORD: str(self._record)} if self._record else {}
        return plain_variables() | {
            **record,
            "GATEWAY_PORT": str(port),
            "BIND_HOST": HOST,
            "MINISTACK_HOST": HOST,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "MINISTACK_REGION": REGION,
            # Enforce the roles' policies: a missing right must fail here, not first on AWS.
            "AUTH": "true",
            "PERSIST_STATE": str(int(self._persist)),
            "STATE_DIR": str(state),
            "S3_PERSIST": str(int(self._persist)),
            "S3_DATA_DIR": str(state / "s3"),
            # It unpacks each function's code here and leaves it behind.
            "TMPDIR": str(scratch),
            # No servers beside the one port: two stacks would fight for theirs.
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
        }

    def _choose_port(self) -> int:
        """The port of last time when state is kept, as queue URLs carry it; else a free one."""
        if self._persist and self._port_file.exists():
            port = int(self._port_file.read_text())
            if _is_free(port):
                return port
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _is_healthy(child: Child, port: int) -> bool:
    """Wait for the first good answer; False when the process ends or takes too long."""
    give_up = time.monotonic() + HEALTHY_WITHIN
    while child.exit_code is None and time.monotonic() < give_up:
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=2)) as probe,
        ):
            probe.request("GET", "/_ministack/health")
            if probe.getresponse().status == 200:
                return True
        time.sleep(0.05)
    return False
