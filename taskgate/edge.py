"""What stands in front of the HTTP API: a domain, CloudFront, and who may ask from a browser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from taskgate.errors import BadSetting

EVERYBODY: Final = "*"
_NAME: Final = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}")
_ORIGIN: Final = re.compile(
    rf"https://(?:{_NAME.pattern})(?::\d{{1,5}})?|http://(?:localhost|127\.0\.0\.1)(?::\d{{1,5}})?"
)
_CERTIFICATE: Final = re.compile(r"arn:aws[a-z-]*:acm:([a-z0-9-]+):\d{12}:certificate/[\w-]+")
_WEB_ACL: Final = re.compile(r"arn:aws[a-z-]*:wafv2:us-east-1:\d{12}:global/webacl/[\w-]+/[\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A name of yours for the API."""

    name: str
    certificate: str
    """ARN of its certificate: in us-east-1 for CloudFront, else in the region of the stacks."""
    hosted_zone: str = ""
    """Id of the Route 53 zone that gets its records; empty when you make them elsewhere."""
    zone_name: str = ""
    """The zone's own name, such as `example.com`."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise BadSetting("domain.name", self.name, "a host name in lower case")
        if not _CERTIFICATE.fullmatch(self.certificate):
            raise BadSetting("domain.certificate", self.certificate, "the ARN of a certificate")
        if bool(self.hosted_zone) != bool(self.zone_name):
            raise BadSetting("domain.zone_name", self.zone_name, "given with hosted_zone, or not")
        if self.zone_name and not f".{self.name}".endswith(f".{self.zone_name}"):
            raise BadSetting("domain.zone_name", self.zone_name, f"a zone that holds {self.name}")

    @property
    def certificate_region(self) -> str:
        found = _CERTIFICATE.fullmatch(self.certificate)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """Nothing of it is on by default: the API then answers at its own AWS address."""

    domain: Domain | None = None
    """The API's name. The AWS address is closed."""
    cloudfront: bool = False
    """Requests come by CloudFront: HTTP/3, AWS's own network from near the caller, and a WAF."""
    web_acl: str = ""
    """ARN of the WAF web ACL that looks at each request; of the scope CLOUDFRONT."""
    key_versions: tuple[int, ...] = (1,)
    """Versions of the key that tells CloudFront's requests from others': the first is sent, all are
    taken. To change it: (2, 1), then (2,)."""
    origins: tuple[str, ...] = ()
    """Whose pages may ask the API and the bucket from a browser: `https://app.example.com`."""

    def __post_init__(self) -> None:
        if self.cloudfront and self.domain is None:
            # CloudFront's own certificate takes TLS 1.0, whatever the distribution asks for.
            raise BadSetting("edge.domain", None, "a domain of yours, for TLS 1.2 on CloudFront")
        if self.cloudfront and self.domain and self.domain.certificate_region != "us-east-1":
            raise BadSetting("domain.certificate", self.domain.certificate, "one of us-east-1")
        if self.web_acl and not self.cloudfront:
            raise BadSetting("edge.web_acl", self.web_acl, "empty without CloudFront")
        if self.web_acl and not _WEB_ACL.fullmatch(self.web_acl):
            raise BadSetting("edge.web_acl", self.web_acl, "the ARN of a global web ACL")
        if not self.key_versions or min(self.key_versions) < 1:
            raise BadSetting("edge.key_versions", self.key_versions, "whole numbers above 0")
        for origin in self.origins:
            if self.origins != (EVERYBODY,) and not _ORIGIN.fullmatch(origin):
                raise BadSetting("edge.origins", origin, "https://host[:port], or * alone")
