"""An issuer on loopback: real keys, really signed tokens, and a JWKS that is fetched over HTTP."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from taskgate.issuer import TrustedIssuer


@dataclass
class Issuer:
    """Signs with any of its keys; publishes those in `published`."""

    url: str = ""
    keys: dict[str, Any] = field(
        default_factory=lambda: {
            "rsa": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ec": ec.generate_private_key(ec.SECP256R1()),
        }
    )
    published: list[str] = field(default_factory=lambda: ["rsa", "ec"])
    fetched: int = 0
    out_of_reach: bool = False

    @property
    def trusted(self) -> TrustedIssuer:
        return TrustedIssuer(issuer=self.url, audience="taskgate", jwks_url=f"{self.url}/jwks.json")

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Good ones, for a while; a claim that is changed to None is left out."""
        good = {
            "iss": self.url,
            "aud": "taskgate",
            "exp": int(time.time()) + 300,
            "sub": "ada",
            "tenant": "acme",
            "scope": "tasks:read tasks:write openid",
            **changed,
        }
        return {name: value for name, value in good.items() if value is not None}

    def token(self, key_id: str = "rsa", **changed: Any) -> str:
        algorithm = (
            "ES256" if isinstance(self.keys[key_id], ec.EllipticCurvePrivateKey) else "RS256"
        )
        return jwt.encode(
            self.claims(**changed), self.keys[key_id], algorithm, headers={"kid": key_id}
        )

    def public_pem(self, key_id: str) -> bytes:
        public = self.keys[key_id].public_key()
        kind = serialization.PublicFormat.SubjectPublicKeyInfo
        return bytes(public.public_bytes(serialization.Encoding.PEM, kind))

    def jwks(self) -> bytes:
        """Some that cannot be read, one for encryption, and those that are published."""
        found: list[Any] = [
            "no key at all",
            {"kid": "odd", "kty": "lattice"},
            {"kid": "torn", "kty": "RSA", "n": "\u00e9", "e": 7},
            {"kid": ["x"], "kty": "EC", "crv": "P-256", "x": None, "y": 1},
        ]
        for key_id in self.published:
            public = self.keys[key_id].public_key()
            ours = isinstance(self.keys[key_id], ec.EllipticCurvePrivateKey)
            kind = jwt.algorithms.ECAlgorithm if ours else jwt.algorithms.RSAAlgorithm
            found.append({**json.loads(kind.to_jwk(public)), "kid": key_id, "use": "sig"})
        found.append({**found[-1], "kid": "for encryption", "use": "enc"})
        return json.dumps({"keys": found}).encode()


@contextmanager
def issuing() -> Iterator[Issuer]:
    """An issuer whose keys are served on a free port for the block."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.fetched += 1
            if issuer.out_of_reach:
                self.send_error(503)
            elif self.path == "/moved.json":
                self.send_response(302)
                self.send_header("Location", "/jwks.json")
                self.end_headers()
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(issuer.jwks())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    issuer.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
