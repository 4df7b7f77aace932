"""`taskgate workers`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer
from rich.table import Table

from taskgate.cli.options import AsJson, client_of
from taskgate.cli.printing import aside, out, plain, print_json, table
from taskgate.client import Pool


def workers(context: typer.Context, as_json: AsJson = False) -> None:
    """Show how many workers each pool has; to operators, each worker and what it runs."""
    found = client_of(context).workers()
    if as_json:
        print_json({"pools": [asdict(pool) for pool in found.pools], "workers": found.workers})
        return
    out().print(_pools(found.pools))
    if found.workers:
        out().print(_each(found.workers))
    if not any(pool.idle or pool.busy for pool in found.pools):
        aside("no worker is there to take a task; tasks wait until one comes")


def _pools(pools: tuple[Pool, ...]) -> Table:
    rows = table("pool", "idle", "busy", "draining", "lost")
    for pool in pools:
        counts = (pool.idle, pool.busy, pool.draining, pool.lost)
        rows.add_row(plain(pool.pool), *map(str, counts))
    return rows


def _each(workers: tuple[Mapping[str, Any], ...]) -> Table:
    rows = table("worker", "pool", "state", "task", "last beat", "version", "gpu")
    for worker in workers:
        task, gpu = worker.get("task") or {}, worker.get("gpu") or {}
        cells = ("id", "pool", "state")
        rows.add_row(
            *(plain(str(worker.get(name, ""))) for name in cells),
            plain(str(task.get("id", ""))),
            plain(str(worker.get("last_beat_at", ""))),
            plain(str(worker.get("version", ""))),
            plain(str(gpu.get("model", ""))),
        )
    return rows
