"""The guard: every hostile URL is refused with its reason, every honest one passes."""

from __future__ import annotations

import socket

import pytest
from hostile_urls import BY_ADDRESS, BY_FORM
from hypothesis import given
from hypothesis import strategies as st

from taskgate.outgoing.addresses import refusal
from taskgate.outgoing.guard import MOST_ADDRESSES, checked, well_formed
from taskgate.outgoing.unsafe import UnsafeUrl

PUBLIC = "93.184.216.34"


class Names:
    """A resolver that answers in turn, and counts; the last answer stays."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.answers, self.asked = list(answers), []

    def __call__(self, host, port, **hints):
        self.asked.append(host)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in found]


def no_dns(*asked, **hints):
    raise AssertionError("looked a name up")


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    monkeypatch.setattr(socket, "socket", no_dns)
    monkeypatch.setattr(socket, "getaddrinfo", no_dns)


@pytest.mark.parametrize(("url", "reason"), BY_FORM, ids=[ascii(u)[:60] for u, _ in BY_FORM])
def test_a_hostile_url_is_refused_by_its_text_alone_without_dns(url, reason):
    with pytest.raises(UnsafeUrl) as refused:
        well_formed(url)
    assert reason in refused.value.reason
    with pytest.raises(UnsafeUrl):
        checked(url, allow_local=False, resolve=no_dns)


@pytest.mark.parametrize(("addresses", "reason"), BY_ADDRESS)
def test_a_harmless_name_that_leads_inside_is_refused(addresses, reason):
    with pytest.raises(UnsafeUrl) as refused:
        checked("https://hooks.example.com/x", allow_local=False, resolve=Names(addresses))
    assert reason in refused.value.reason


def test_the_table_is_refused_whole_and_counted(capsys):
    refused = 0
    for url, _ in BY_FORM:
        with pytest.raises(UnsafeUrl):
            well_formed(url)
        refused += 1
    for addresses, _ in BY_ADDRESS:
        with pytest.raises(UnsafeUrl):
            checked("https://a.example.com/", allow_local=False, resolve=Names(addresses))
        refused += 1
    with capsys.disabled():
        print(f"\nhostile URLs: {refused} refused")  # noqa: T201
    assert refused >= 80


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("https://example.com", "example.com", 443, "/", "example.com"),
        ("HTTPS://Example.COM/Hook", "example.com", 443, "/Hook", "example.com"),
        ("https://example.com.:8443/a?b=c", "example.com", 8443, "/a?b=c", "example.com:8443"),
        ("https://example.com?q", "example.com", 443, "/?q", "example.com"),
        ("https://bücher.example/é", "xn--bcher-kva.example", 443, "/%C3%A9", None),
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/", None),
        ("https://faß.de/", "xn--fa-hia.de", 443, "/", None),
        ("https://a.example/%2e%2E/x%00", "a.example", 443, "/%2e%2E/x%00", None),
        ("https://a.example/@10.0.0.1/", "a.example", 443, "/@10.0.0.1/", None),
        ("https://8.8.8.8/x", "8.8.8.8", 443, "/x", "8.8.8.8"),
        ("https://[2606:4700::1111]:8443/", "2606:4700::1111", 8443, "/", "[2606:4700::1111]:8443"),
        ("https://1.example/", "1.example", 443, "/", "1.example"),
        ("https://0x.example/", "0x.example", 443, "/", "0x.example"),
    ],
)
def test_an_honest_url_comes_out_in_one_form(url, host, port, path, authority):
    form = well_formed(url)
    assert (form.tls, form.host, form.port, form.path) == (True, host, port, path)
    assert form.authority == (authority or host)


def test_the_name_is_looked_up_once_and_the_judged_addresses_are_handed_over():
    names = Names((PUBLIC, PUBLIC, "2606:4700::1111"), ("127.0.0.1",))
    target = checked("https://rebind.example.com/", allow_local=False, resolve=names)
    assert target.addresses == (PUBLIC, "2606:4700::1111")
    assert names.asked == ["rebind.example.com"]


def test_of_many_addresses_a_few_are_kept():
    many = Names(tuple(f"93.184.216.{n}" for n in range(40)))
    assert len(checked("https://a.example/", allow_local=False, resolve=many).addresses) == (
        MOST_ADDRESSES
    )


def test_an_address_needs_no_look_up():
    assert checked("https://8.8.8.8/", allow_local=False, resolve=no_dns).addresses == ("8.8.8.8",)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9001/hook",
        "http://localhost:1/",
        "http://receiver/",
        "https://[::1]:8080/",
        "http://10.0.0.1/",
        "http://192.168.1.20:3000/x",
    ],
)
def test_a_local_stage_may_call_this_machine_and_its_networks(url):
    assert checked(url, allow_local=True, resolve=Names(("127.0.0.1",))).addresses
    with pytest.raises(UnsafeUrl):
        well_formed(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://169.254.170.2/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://0.0.0.0/",
        "http://100.64.0.1/",
        "http://user@localhost/",
        "http://2852039166/",
        "http://localhost\\@a/",
    ],
)
def test_a_local_stage_may_not_call_metadata_either(url):
    with pytest.raises(UnsafeUrl):
        checked(url, allow_local=True, resolve=no_dns)


def test_a_name_that_cannot_be_looked_up_is_an_error_of_the_network_not_of_the_url():
    def down(*asked, **hints):
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure")

    with pytest.raises(OSError, match="Temporary"):
        checked("https://a.example/", allow_local=False, resolve=down)


def test_a_refusal_repeats_nothing_of_the_url_and_names_no_address():
    with pytest.raises(UnsafeUrl) as refused:
        checked("https://secret.example/t0k3n", allow_local=False, resolve=Names(("10.7.7.7",)))
    assert "secret" not in str(refused.value)
    assert "10.7.7.7" not in str(refused.value)


@given(st.text(max_size=60))
def test_any_text_is_judged_and_none_crashes_the_guard(text):
    for url in (text, f"https://{text}", f"https://{text}.example/", f"https://a.example/{text}"):
        try:
            form = well_formed(url)
        except UnsafeUrl:
            continue
        assert form.path.isascii()
        assert form.host.isascii()
        assert not any(c.isspace() or not c.isprintable() for c in form.path + form.host)
        assert form.address is None or refusal(form.address) is None


@given(st.ip_addresses())
def test_no_address_that_the_standard_library_calls_inner_is_let_through(address):
    inner = not address.is_global or address.is_multicast or address.is_reserved
    assert refusal(address) or not inner
