"""The sender over real sockets: what was judged is what is called, in bounded time, once."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
import zlib
from datetime import UTC, datetime

import pytest
import trustme

from functions import VERSION
from functions.outbox_callback import wire
from functions.outbox_callback.resolving import within
from functions.outbox_callback.sender import Sender, retry_after_of, trusted
from taskgate.gateway.outbox.delivering import Delivered, GiveUp, Reason, TryAt, decide
from taskgate.outgoing import guard
from taskgate.outgoing.addresses import refusal
from taskgate.testing.receiver import (
    Receiver,
    breaks_off,
    drips,
    drips_its_body,
    floods,
    hangs,
    raw,
    redirects,
    resets,
    says,
)
from taskgate.webhooks import secrets_for, signed

BODY = '{"b":1,"a":"é😀","n":1.0}'.encode()
(SECRET,) = secrets_for(bytes(32), "acme", [1])
NAME = "hooks.example.com"


def leads_to(*addresses):
    """A resolver of one name; asked twice, it answers something else."""
    answers = list(addresses)

    def resolve(host, port, **hints):
        address = answers.pop(0)
        return [(0, socket.SOCK_STREAM, 6, "", (address, port))]

    return resolve


@pytest.fixture(scope="module")
def local() -> Sender:
    return Sender(allow_local=True)


@pytest.fixture(scope="module")
def brisk() -> Sender:
    """For receivers that never come to an end: the real limit is ten seconds."""
    return Sender(allow_local=True, total_seconds=1.0)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def serving(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def trusting(authority: trustme.CA, *addresses: str) -> Sender:
    context = trusted()
    authority.configure_trust(context)
    return Sender(
        allow_local=True,
        tls=context,
        resolve=leads_to(*addresses or ("127.0.0.1",)),
        total_seconds=5.0,
    )


def test_the_bytes_arrive_as_they_were_built_and_verify(local):
    with Receiver(says(200), secrets=[SECRET]) as receiver:
        headers = signed("msg_1", int(time.time()), BODY, [SECRET])
        attempt = local.send(receiver.url + "?a=b%20c", BODY, headers)
    arrived = receiver.arrived[0]
    assert (attempt.status, attempt.reason) == (200, Reason.OK)
    assert arrived.body == BODY
    assert arrived.event == json.loads(BODY)
    assert arrived.path == "/hook?a=b%20c"
    assert arrived.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert arrived.headers["content-type"] == "application/json"
    assert arrived.headers["user-agent"] == f"Taskgate/{VERSION}"
    assert arrived.raw.startswith(b"POST /hook?a=b%20c HTTP/1.1\r\n")
    assert receiver.connections == 1


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_every_2xx_is_delivered_with_or_without_a_body(local, status):
    with Receiver(says(status)) as receiver:
        attempt = local.send(receiver.url, BODY, {})
    assert decide(attempt, 1, now=0, draw=0) == Delivered()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("inside", [True, False])
def test_a_redirect_is_never_followed_there_is_no_second_connection(local, status, inside):
    with (
        Receiver(says(200)) as other,
        Receiver(redirects(other.url if inside else "https://example.com/", status)) as receiver,
    ):
        attempt = local.send(receiver.url, BODY, {})
    assert (attempt.status, attempt.reason) == (status, Reason.REDIRECT)
    assert (receiver.connections, other.connections) == (1, 0)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (says(404), Reason.REFUSED),
        (says(500, b"secret of the receiver"), Reason.SERVER_ERROR),
        (says(410), Reason.GONE),
        (hangs(), Reason.TIMEOUT),
        (drips(every=0.05), Reason.TIMEOUT),
        (drips_its_body(every=0.05), Reason.TIMEOUT),
        (breaks_off(), Reason.RESET),
        (resets(), Reason.RESET),
        (raw(b""), Reason.RESET),
        (raw(b"HTTP/1.1 200 OK\r\ncontent-le"), Reason.RESET),
        (raw(b"SSH-2.0-OpenSSH_9.6\r\n"), Reason.MALFORMED),
        (raw(b"\x00" * 100_000), Reason.MALFORMED),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000), Reason.MALFORMED),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"a" * 200_000 + b": b\r\n\r\n"), Reason.MALFORMED),
        (raw(b"HTTP/1.1 200 OK\r\na: " + b"b" * 1_000_000 + b"\r\n\r\n"), Reason.MALFORMED),
        (raw(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n"), Reason.MALFORMED),
        (raw(b"HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n"), Reason.MALFORMED),
        (raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 5000), Reason.MALFORMED),
        (raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"), Reason.RESET),
        (raw(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab"), Reason.RESET),
    ],
)
def test_whatever_else_a_receiver_does_has_a_reason_and_is_no_delivery(
    local, brisk, behaviour, reason
):
    with Receiver(behaviour) as receiver:
        sender = brisk if reason is Reason.TIMEOUT else local
        attempt = sender.send(receiver.url, BODY, {})
    assert attempt.reason is reason
    assert attempt.ms < 5000
    assert receiver.connections == 1
    assert isinstance(decide(attempt, 1, now=0, draw=0), TryAt | GiveUp)
    assert "secret" not in repr(attempt)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    ],
)
def test_an_answer_in_any_of_the_forms_of_http_is_read(local, answer):
    with Receiver(raw(answer)) as receiver:
        assert local.send(receiver.url, BODY, {}).reason is Reason.OK


def test_a_huge_answer_is_read_to_64_kb_and_its_status_counts(local, monkeypatch):
    read = []
    real = wire._Reading.readinto
    monkeypatch.setattr(
        wire._Reading, "readinto", lambda self, b: read.append(n := real(self, b)) or n
    )
    with Receiver(floods(5_000_000)) as receiver:
        attempt = local.send(receiver.url, BODY, {})
    assert (attempt.status, attempt.reason) == (200, Reason.OK)
    assert sum(read) == 64 * 1024


def test_a_bomb_of_gzip_is_never_unpacked(local, monkeypatch):
    """What a receiver packs stays packed: the body is counted as it comes and thrown away."""
    for name in ("decompress", "decompressobj"):
        monkeypatch.setattr(zlib, name, lambda *a, **k: pytest.fail("unpacked"))
    bomb = b"\x1f\x8b" + b"\x00" * 50_000
    with Receiver(says(200, bomb, content_encoding="gzip")) as receiver:
        attempt = local.send(receiver.url, BODY, {})
    assert (attempt.status, attempt.reason) == (200, Reason.OK)
    assert "accept-encoding" not in receiver.arrived[0].headers


def test_an_answer_before_the_whole_request_was_read_counts():
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_answers_without_reading, args=(server,))
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        attempt = Sender(allow_local=True, total_seconds=3).send(url, b"x" * 5_000_000, {})
        thread.join()
    assert attempt.reason in {Reason.REFUSED, Reason.RESET}


def _answers_without_reading(server):
    sock, _ = server.accept()
    with sock:
        sock.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        sock.shutdown(socket.SHUT_WR)
        time.sleep(0.2)


def test_the_time_is_hard_against_a_receiver_that_does_not_read():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        started = time.monotonic()
        attempt = Sender(allow_local=True, total_seconds=0.4).send(url, b"x" * 20_000_000, {})
    assert attempt.reason is Reason.TIMEOUT
    assert 350 <= attempt.ms < 5000
    assert time.monotonic() - started < 8


def test_the_drip_of_a_tls_handshake_is_under_the_same_clock():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        attempt = Sender(allow_local=True, total_seconds=0.4).send(url, BODY, {})
    assert attempt.reason is Reason.TIMEOUT
    assert 350 <= attempt.ms < 5000


def test_a_host_that_takes_no_connection_is_given_up_in_the_connect_time():
    with _full() as port:
        sender = Sender(allow_local=True, connect_seconds=0.3)
        attempt = sender.send(f"http://127.0.0.1:{port}/", BODY, {})
    assert (attempt.status, attempt.reason) == (None, Reason.TIMEOUT)
    assert 250 <= attempt.ms < 2900


@contextlib.contextmanager
def _full():
    """A port whose queue of connections is full: further ones hang."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        time.sleep(0.05)
        yield server.getsockname()[1]


def test_a_port_where_nobody_listens_is_a_failed_connection(local):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert local.send(f"http://127.0.0.1:{port}/", BODY, {}).reason is Reason.CONNECT


def test_the_next_address_is_tried_when_the_first_takes_no_connection():
    with Receiver(says(204)) as receiver:

        def resolve(host, port, **hints):
            return [(0, 0, 0, "", (a, port)) for a in ("127.0.0.2", "127.0.0.1")]

        sender = Sender(allow_local=True, resolve=resolve)
        attempt = sender.send(f"http://{NAME}:{receiver.port}/", BODY, {})
    assert attempt.reason is Reason.OK
    assert receiver.arrived[0].headers["host"] == f"{NAME}:{receiver.port}"


def test_tls_is_spoken_with_the_name_and_the_certificate_must_bear_it(authority):
    asked = []
    context = serving(authority, NAME)
    context.sni_callback = lambda sock, name, ctx: asked.append(name)
    with Receiver(says(204), tls=context) as receiver:
        url = f"https://{NAME}:{receiver.port}/hook"
        attempt = trusting(authority).send(url, BODY, {})
    assert (attempt.status, attempt.detail) == (204, "")
    assert asked == [NAME]
    assert receiver.arrived[0].headers["host"] == f"{NAME}:{receiver.port}"


@pytest.mark.parametrize("name", ["other.example.com", "*.other.com", "127.0.0.1"])
def test_a_certificate_of_another_name_is_refused_and_nothing_is_sent(authority, name):
    with Receiver(says(204), tls=serving(authority, name)) as receiver:
        url = f"https://{NAME}:{receiver.port}/"
        attempt = trusting(authority).send(url, BODY, {})
    assert (attempt.status, attempt.reason) == (None, Reason.TLS)
    assert "Hostname mismatch" in attempt.detail
    assert receiver.arrived == []


def test_a_certificate_of_an_unknown_authority_is_refused_and_nothing_is_sent(authority):
    with Receiver(says(204), tls=serving(trustme.CA(), NAME)) as receiver:
        url = f"https://{NAME}:{receiver.port}/"
        attempt = trusting(authority).send(url, BODY, {})
    assert attempt.reason is Reason.TLS
    assert receiver.arrived == []


def test_a_certificate_that_signed_itself_is_told_as_such(tmp_path):
    """The usual one of a receiver that somebody has just set up."""
    own, chain = trustme.CA(), tmp_path / "own.pem"
    chain.write_bytes(own.private_key_pem.bytes() + own.cert_pem.bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    with Receiver(says(204), tls=context) as receiver:
        attempt = trusting(trustme.CA()).send(f"https://{NAME}:{receiver.port}/", BODY, {})
    assert (attempt.status, attempt.reason) == (None, Reason.TLS)
    assert attempt.detail == "self-signed certificate"
    assert receiver.arrived == []


def test_an_expired_certificate_is_told_as_such(authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old = authority.issue_cert(NAME, not_after=datetime(2020, 1, 1, tzinfo=UTC))
    old.configure_cert(context)
    with Receiver(says(204), tls=context) as receiver:
        attempt = trusting(authority).send(f"https://{NAME}:{receiver.port}/", BODY, {})
    assert attempt.detail == "certificate has expired"


def test_plain_http_behind_an_https_url_is_never_spoken():
    with Receiver(says(204)) as receiver:
        url = f"https://{NAME}:{receiver.port}/"
        sender = Sender(allow_local=True, resolve=leads_to("127.0.0.1"), total_seconds=1.0)
        attempt = sender.send(url, BODY, {})
    assert attempt.reason in {Reason.TLS, Reason.TIMEOUT}
    assert receiver.arrived == []


def test_a_name_that_is_rebound_after_the_check_is_not_looked_up_again(authority, monkeypatch):
    """The name leads to a public address when it is judged, and to this machine ever after."""
    connected = []

    def connect(address, port, seconds):
        connected.append((address, port))
        raise ConnectionRefusedError

    monkeypatch.setattr(wire, "_connected", connect)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: pytest.fail("looked up again"))
    with Receiver(says(200)) as receiver:
        resolve = leads_to("93.184.216.34", "127.0.0.1")
        Sender(resolve=resolve).send(f"https://{NAME}/", BODY, {})
    assert connected == [("93.184.216.34", 443)]
    assert receiver.connections == 0


def test_the_connection_goes_to_the_address_that_was_checked_and_to_no_other(monkeypatch):
    """Python's own look-up is cut off: only the checked address can lead to the receiver."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *a, **k: pytest.fail("looked up again"))
    with Receiver(says(204)) as checked, Receiver(says(200)) as other:
        sender = Sender(allow_local=True, resolve=leads_to("127.0.0.1", "127.0.0.9"))
        assert sender.send(f"http://{NAME}:{checked.port}/", BODY, {}).status == 204
    assert (checked.connections, other.connections) == (1, 0)


def test_a_name_that_leads_inside_is_refused_before_any_connection(monkeypatch):
    monkeypatch.setattr(wire, "_connected", lambda *a: pytest.fail("connected"))
    attempt = Sender(resolve=leads_to("169.254.170.2")).send(f"https://{NAME}/", BODY, {})
    assert (attempt.status, attempt.reason) == (None, Reason.UNSAFE)
    assert attempt.detail == "the host leads to a metadata address"


def test_no_proxy_of_the_environment_is_asked(local, monkeypatch):
    with Receiver(says(204)) as receiver, Receiver(says(200)) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.upper(), f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        assert local.send(receiver.url, BODY, {}).status == 204
    assert (receiver.connections, proxy.connections) == (1, 0)


def test_a_name_that_is_not_there_is_a_failure_of_dns():
    def unknown(*asked, **hints):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    assert Sender(resolve=unknown).send(f"https://{NAME}/", BODY, {}).reason is Reason.DNS


def test_a_name_server_that_is_silent_does_not_hold_the_attempt():
    leave = threading.Event()
    sender = Sender(resolve=within(0.2, lambda *a, **k: leave.wait(5) and []))
    attempt = sender.send(f"https://{NAME}/", BODY, {})
    leave.set()
    assert attempt.reason is Reason.DNS
    assert attempt.ms < 4500


def test_one_hanging_receiver_holds_up_no_other(local):
    with Receiver(hangs()) as slow, Receiver(says(204)) as quick:
        patient = Sender(allow_local=True, total_seconds=3.0)
        thread = threading.Thread(target=patient.send, args=(slow.url, BODY, {}))
        thread.start()
        assert [local.send(quick.url, BODY, {}).status for _ in range(20)] == [204] * 20
        assert thread.is_alive()
        thread.join()


def test_a_receiver_that_does_everything_wrong_in_turn_gets_it_in_the_end_with_one_id():
    script = [says(500)] * 3 + [hangs(), redirects("http://10.0.0.1/"), breaks_off(), says(200)]
    reasons, tries, outcome = [], 0, None
    sender = Sender(allow_local=True, total_seconds=2.0)
    with Receiver(*script, secrets=[SECRET]) as receiver:
        while not isinstance(outcome, Delivered):
            tries += 1
            headers = signed("msg_1", int(time.time()), BODY, [SECRET])
            attempt = sender.send(receiver.url, BODY, headers)
            outcome = decide(attempt, tries, now=0, draw=0.5)
            reasons.append(attempt.reason)
    assert reasons == [
        *[Reason.SERVER_ERROR] * 3,
        Reason.TIMEOUT,
        Reason.REDIRECT,
        Reason.RESET,
        Reason.OK,
    ]
    assert {a.headers["webhook-id"] for a in receiver.arrived} == {"msg_1"}
    assert {a.body for a in receiver.arrived} == {BODY}
    assert all(a.event for a in receiver.arrived)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("9" * 400, 999_999_999_999.0),
        ("Sun, 29 Nov 2026 12:02:00 GMT", 120.0),
        ("Sun, 29 Nov 2026 12:02:00 -0000", 120.0),
        ("Sun, 29 Nov 2020 12:02:00 GMT", 0.0),
        ("-5", None),
        ("1.5", None),
        ("nan", None),
        ("٣", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_or_not_at_all(header, seconds):
    assert retry_after_of(header, datetime(2026, 11, 29, 12, 0, tzinfo=UTC)) == seconds


def test_retry_after_of_the_answer_is_in_the_attempt(local):
    with Receiver(says(503, retry_after="7")) as receiver:
        attempt = local.send(receiver.url, BODY, {})
    assert (attempt.status, attempt.retry_after) == (503, 7.0)


def test_a_header_that_could_smuggle_another_is_not_sent(local):
    with Receiver(says(204)) as receiver, pytest.raises(ValueError, match="printable"):
        local.send(receiver.url, BODY, {"webhook-id": "a\r\nx: y"})
    assert receiver.connections == 0


def test_a_target_holds_judged_addresses_only():
    target = guard.checked(f"https://{NAME}/", allow_local=False, resolve=leads_to("8.8.8.8"))
    assert [refusal(guard.ip_address(a)) for a in target.addresses] == [None]
