"""What the gateway signs, others accept; what others sign, `verify` accepts; nothing else passes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from taskgate.webhooks import (
    BadHeader,
    BadSecret,
    MissingHeader,
    NotAnEvent,
    OutsideTolerance,
    SignatureMismatch,
    WebhookError,
    secrets_for,
    signed,
    verify,
)

MASTER = bytes(range(32))
OLD, NEW = secrets_for(MASTER, "acme", (1, 2))
NOW = 1_790_000_000
AWKWARD = '{"b":1,"a":"é😀","n":1.0}'.encode()
"""Key order, non-ASCII and a float: what a second serialisation changes (case B91)."""

events = st.dictionaries(st.text(), st.text() | st.integers() | st.floats(allow_nan=False))


def at_now() -> int:
    return int(datetime.now(UTC).timestamp())


@given(events)
def test_the_public_library_accepts_whatever_we_sign(event):
    body = json.dumps(event, ensure_ascii=False).encode("utf-8", "surrogatepass")
    headers = signed("msg_1", at_now(), body, [NEW])
    assert Webhook(NEW).verify(body, headers) == event


@given(events)
def test_we_accept_whatever_the_public_library_signs(event):
    body = json.dumps(event)
    moment = datetime.fromtimestamp(NOW, UTC)
    headers = {
        "Webhook-Id": "msg_1",
        "Webhook-Timestamp": str(NOW),
        "Webhook-Signature": Webhook(NEW).sign("msg_1", moment, body),
    }
    assert verify(body.encode(), headers, NEW, now=NOW) == event


@pytest.mark.parametrize("attempt", [1, 5])
def test_a_receiver_of_another_make_verifies_the_raw_bytes_on_the_first_and_the_fifth_attempt(
    attempt,
):
    at = NOW + attempt * 900
    headers = signed("msg_1", at, AWKWARD, [NEW])
    key = base64.b64decode(NEW.removeprefix("whsec_"))
    mac = hmac.new(key, b"msg_1." + str(at).encode() + b"." + AWKWARD, hashlib.sha256)
    assert headers["webhook-signature"] == "v1," + base64.b64encode(mac.digest()).decode()
    assert headers["webhook-id"] == "msg_1"
    assert verify(AWKWARD, headers, NEW, now=at)["a"] == "é😀"


@given(st.binary(max_size=200), st.integers(0, 10_000), st.integers(1, 255))
def test_one_changed_byte_is_one_too_many(body, place, flip):
    headers = signed("msg_1", NOW, body + b"x", [NEW])
    changed = bytearray(body + b"x")
    changed[place % len(changed)] ^= flip
    with pytest.raises(SignatureMismatch):
        verify(bytes(changed), headers, NEW, now=NOW)


def test_json_that_was_parsed_and_written_again_does_not_pass():
    headers = signed("msg_1", NOW, AWKWARD, [NEW])
    with pytest.raises(SignatureMismatch):
        verify(json.dumps(json.loads(AWKWARD)).encode(), headers, NEW, now=NOW)


def test_text_instead_of_bytes_is_refused_with_the_reason():
    headers = signed("msg_1", NOW, b"{}", [NEW])
    with pytest.raises(TypeError, match="raw bytes"):
        verify("{}", headers, NEW, now=NOW)  # type: ignore[arg-type]


def test_during_a_rotation_the_old_and_the_new_secret_both_verify():
    headers = signed("msg_1", at_now(), AWKWARD, [NEW, OLD])
    assert len(headers["webhook-signature"].split(" ")) == 2
    for secret in (OLD, NEW, [OLD, NEW]):
        assert verify(AWKWARD, headers, secret)["b"] == 1
    for secret in (OLD, NEW):
        Webhook(secret).verify(AWKWARD, headers)


def test_after_the_rotation_the_old_secret_verifies_no_more():
    with pytest.raises(SignatureMismatch):
        verify(AWKWARD, signed("msg_1", NOW, AWKWARD, [NEW]), OLD, now=NOW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("empty", [True, False])
def test_a_missing_header_is_named(name, empty):
    headers = signed("msg_1", NOW, b"{}", [NEW])
    headers[name] = ""
    if not empty:
        del headers[name]
    with pytest.raises(MissingHeader, match=name):
        verify(b"{}", headers, NEW, now=NOW)


@pytest.mark.parametrize(
    ("late", "told"), [(301, "301 s ago"), (-301, "301 s in the future"), (10**9, "ago")]
)
def test_a_replay_and_a_wrong_clock_are_told_with_the_age(late, told):
    headers = signed("msg_1", NOW, b"{}", [NEW])
    with pytest.raises(OutsideTolerance, match=told):
        verify(b"{}", headers, NEW, now=NOW + late)


@pytest.mark.parametrize("late", [300, -300, 0])
def test_five_minutes_either_way_are_allowed(late):
    assert verify(b"{}", signed("m", NOW, b"{}", [NEW]), NEW, now=NOW + late) == {}


@pytest.mark.parametrize("at", ["now", "1e9", "-1", "١٧٩", "1" * 400, "nan", "1790000000.0"])
def test_a_timestamp_that_is_no_count_of_seconds_is_refused(at):
    headers = signed("msg_1", NOW, b"{}", [NEW]) | {"webhook-timestamp": at}
    with pytest.raises(BadHeader, match="webhook-timestamp"):
        verify(b"{}", headers, NEW, now=NOW)


@given(st.text(max_size=80))
def test_a_signature_header_of_any_text_is_refused_and_never_crashes(text):
    headers = signed("msg_1", NOW, b"{}", [NEW]) | {"webhook-signature": text}
    with pytest.raises((SignatureMismatch, MissingHeader)):
        verify(b"{}", headers, NEW, now=NOW)


def test_signatures_of_other_versions_beside_ours_do_no_harm():
    headers = signed("msg_1", NOW, b"{}", [NEW])
    headers["webhook-signature"] = "v1a,AAAA v2 " + headers["webhook-signature"]
    assert verify(b"{}", headers, NEW, now=NOW) == {}


@pytest.mark.parametrize("body", [b"[]", b"", b"\xff", b"{", b"1", b"[" * 100_000])
def test_a_signed_body_that_is_no_object_is_not_an_event(body):
    with pytest.raises(NotAnEvent):
        verify(body, signed("msg_1", NOW, body, [NEW]), NEW, now=NOW)


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_c2hvcnQ=", NEW.removeprefix("whsec_"), "whsec_!!", "é", []]
)
def test_a_secret_that_is_none_is_the_receivers_mistake(secret):
    with pytest.raises(BadSecret):
        verify(b"{}", signed("msg_1", NOW, b"{}", [NEW]), secret, now=NOW)


@pytest.mark.parametrize("message_id", ["a.b", "a b", "a\nb", "é"])
def test_an_id_that_could_stand_for_two_messages_is_not_signed(message_id):
    with pytest.raises(BadHeader):
        signed(message_id, NOW, b"{}", [NEW])


def test_nothing_is_sent_unsigned():
    with pytest.raises(BadSecret):
        signed("msg_1", NOW, b"{}", [])


def test_secrets_are_of_one_tenant_and_one_version_and_always_the_same():
    pairs = [("acme", 1), ("acme", 2), ("acm", 1), ("acme|1", 1), ("acme|1", 2), ("é", 1), ("", 1)]
    derived = [secrets_for(MASTER, tenant, [version])[0] for tenant, version in pairs]
    assert len(set(derived)) == len(pairs)
    assert derived == [secrets_for(MASTER, tenant, [version])[0] for tenant, version in pairs]
    assert all(len(base64.b64decode(s.removeprefix("whsec_"))) == 32 for s in derived)


def test_derivation_is_hkdf_sha256_as_others_compute_it():
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    kdf = pytest.importorskip("cryptography.hazmat.primitives.kdf.hkdf")
    key = kdf.HKDF(hashes.SHA256(), 32, salt=None, info=b"acme|7").derive(MASTER)
    assert secrets_for(MASTER, "acme", [7]) == ("whsec_" + base64.b64encode(key).decode(),)


def test_a_short_master_key_derives_nothing():
    with pytest.raises(BadSecret, match="31 bytes"):
        secrets_for(b"x" * 31, "acme", [1])


def test_every_refusal_is_a_webhook_error_with_a_sentence():
    for error in WebhookError.__subclasses__():
        assert issubclass(error, WebhookError)
        assert (error.__doc__ or "").endswith(".")
