"""JSON lines for CloudWatch: our own events and the request log, each field at the top level."""

from __future__ import annotations

import json
import logging

from aws_lambda_powertools import Logger

from taskgate.events import LOG


def json_logger(service: str) -> Logger:
    """The room's logger. The events of `taskgate` come out through it, one line each."""
    logger = Logger(service=service, level="INFO", use_rfc3339=True, utc=True)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False
    LOG.handlers = [logger.registered_handler]
    if _unfolded not in LOG.filters:
        LOG.addFilter(_unfolded)
    return logger


def _unfolded(record: logging.LogRecord) -> bool:
    """An event's text is JSON: its fields become the line's own, so that a query can name them."""
    fields = json.loads(record.getMessage())
    record.msg, record.args = fields.pop("event"), ()
    record.__dict__.update(fields)
    return True
