"""Uploads: handing out the form, and holding a submit to what its input refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from taskgate.catalog import Catalog
from taskgate.errors import FieldProblem, InvalidRequest
from taskgate.gateway.door import admitting
from taskgate.nearest import must_be_one_of
from taskgate.ports import Ports
from taskgate.principal import Principal
from taskgate.results import Form, Stored
from taskgate.settings import Environment
from taskgate.uploads import kept_until, key_of, new_upload_id

FORM_SECONDS: Final = 15 * 60
"""How long a form is good, unless the credentials that sign it end earlier."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A form for one file. Times are epoch ms."""

    id: str
    form: Form
    terms: Stored
    expires_at: int
    """The form is good until then."""
    kept_until: int
    """The file is kept at least until then."""


def begin(
    ports: Ports,
    catalog: Catalog,
    environment: Environment,
    principal: Principal,
    terms: Stored,
) -> Upload:
    """A form for exactly this file, into the caller's own folder: 1 call, of the rate."""
    principal.require("tasks:write")
    _check_terms(catalog, environment, principal, terms)
    admitting.check_rate(ports, principal, "uploads")
    now, good = ports.now(), ports.results.good_for(FORM_SECONDS)
    upload_id = new_upload_id(now)
    form = ports.results.form(key_of(principal.owner, upload_id), terms, good)
    return Upload(
        id=upload_id,
        form=form,
        terms=terms,
        expires_at=now + good * 1000,
        kept_until=kept_until(upload_id, environment.upload_days),
    )


def _check_terms(
    catalog: Catalog, environment: Environment, principal: Principal, terms: Stored
) -> None:
    most = catalog.uploads.get(terms.content_type)
    if most is None:
        told = must_be_one_of(catalog.uploads, terms.content_type)
        raise InvalidRequest(fields=[FieldProblem("content_type", told)])
    plan = principal.plan.max_upload_bytes
    limits = {
        f"as any task takes of {terms.content_type}": most,
        "in this deployment": environment.upload_bytes,
        f"by your plan {principal.plan.name}": most if plan is None else plan,
    }
    whose = min(limits, key=lambda name: limits[name])
    if not 1 <= terms.size <= limits[whose]:
        problem = FieldProblem("bytes", f"must be 1 to {limits[whose]}, {whose}")
        raise InvalidRequest(fields=[problem])
