"""Events as HTTP API really sends them (payload format 2.0), and answers made easy to look at."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

REQUEST_ID = "JKJaXmPLvHcESHA="


def http_event(
    method: str,
    path: str,
    *,
    body: str | bytes | None = None,
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    authorizer: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One request. A body of bytes comes in base64, as any that is not declared a text does."""
    context: dict[str, Any] = {
        "accountId": "123456789012",
        "apiId": "r3pmxmplak",
        "domainName": "r3pmxmplak.execute-api.us-east-2.amazonaws.com",
        "domainPrefix": "r3pmxmplak",
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "205.255.255.176",
            "userAgent": "curl/8.5.0",
        },
        "requestId": REQUEST_ID,
        "routeKey": f"{method} {path}",
        "stage": "$default",
        "time": "12/Mar/2026:19:03:58 +0000",
        "timeEpoch": 1773342238000,
    }
    if authorizer is not None:
        context["authorizer"] = {"lambda": authorizer}
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": f"{method} {path}",
        "rawPath": path,
        "rawQueryString": urlencode(query or {}),
        "headers": {
            "accept": "*/*",
            "content-type": "application/json",
            "host": "r3pmxmplak.execute-api.us-east-2.amazonaws.com",
            "x-amzn-trace-id": "Root=1-5e6722a7-cc56xmpl46db7ae02d4da47e",
            **{name.lower(): value for name, value in (headers or {}).items()},
        },
        "requestContext": context,
        "isBase64Encoded": isinstance(body, bytes),
    }
    if query:
        event["queryStringParameters"] = query
    if body is not None:
        event["body"] = base64.b64encode(body).decode() if isinstance(body, bytes) else body
    return event


@dataclass
class Answer:
    """What came back."""

    status: int
    text: str
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Answer:
        json.dumps(raw).encode()  # Lambda's runtime does the same, and would fail on a bad text
        assert raw["isBase64Encoded"] is False
        assert raw["headers"]["X-Content-Type-Options"] == "nosniff"
        return cls(raw["statusCode"], raw.get("body", ""), dict(raw["headers"]))

    @property
    def json(self) -> Any:
        """The body, held to strict JSON."""
        return json.loads(self.text, parse_constant=_refuse)

    @property
    def code(self) -> str:
        assert self.headers["Content-Type"] == "application/problem+json"
        assert self.json["status"] == self.status
        return str(self.json["code"])

    @property
    def fields(self) -> list[str]:
        return [wrong["field"] for wrong in self.json.get("errors", [])]


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")
