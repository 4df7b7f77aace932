"""A cursor opens at the list that gave it, and nowhere else, whoever made it."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import UTC, datetime

import pytest

from taskgate.errors import BadCursor
from taskgate.gateway.views.cursors import MAX_CURSOR, Cursors
from taskgate.gateway.views.listing import ALL, Filter, list_of
from taskgate.lifecycle.states import State
from taskgate.principal import NAME
from taskgate.task import Owner
from tests.unit.functions.api_world import ADA, EVE, ApiWorld

KEY, OTHER_KEY = bytes(32), bytes(range(32))
START = "task_01M3250V00EXAMP00000000001"
LISTS = [
    list_of(Owner("acme", "ada")),
    list_of(Owner("acme", "eve")),
    list_of(Owner("evil", "ada")),
    list_of(Owner("acme", "ada"), Filter(states=frozenset({State.FAILED}))),
    list_of(Owner("acme", "ada"), Filter(states=frozenset({State.FAILED, State.QUEUED}))),
    list_of(Owner("acme", "ada"), Filter(type="text_to_image")),
    list_of(Owner("acme", "ada"), Filter(since=1)),
    list_of(Owner("acme", "ada"), Filter(until=1)),
    list_of(Owner("acme", "ada"), Filter(metadata={"run": "7"})),
    list_of(Owner("acme", "ada"), Filter(metadata={"run": "8"})),
]


def test_a_cursor_opens_at_its_own_list() -> None:
    cursors = Cursors(lambda: KEY)
    for of in LISTS:
        assert cursors.open(of, cursors.seal(of, START)) == START


@pytest.mark.parametrize("of", LISTS)
def test_a_cursor_opens_at_no_other_list(of: str) -> None:
    cursors = Cursors(lambda: KEY)
    cursor = cursors.seal(of, START)
    for other in LISTS:
        if other != of:
            with pytest.raises(BadCursor):
                cursors.open(other, cursor)


def test_a_cursor_does_not_show_where_it_leads() -> None:
    cursor = Cursors(lambda: KEY).seal(LISTS[0], START)
    raw = base64.urlsafe_b64decode(cursor + "==")
    assert not any(START[n : n + 4].encode() in raw for n in range(len(START) - 3))


def test_who_has_another_key_can_make_no_cursor() -> None:
    of = list_of(Owner("acme", "ada"))
    with pytest.raises(BadCursor):
        Cursors(lambda: KEY).open(of, Cursors(lambda: OTHER_KEY).seal(of, START))


def test_a_cursor_with_any_one_bit_changed_is_refused() -> None:
    cursors, of = Cursors(lambda: KEY), LISTS[0]
    cursor = cursors.seal(of, START)
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    for bit in range(len(raw) * 8):
        changed = bytearray(raw)
        changed[bit // 8] ^= 1 << bit % 8
        spelt = base64.urlsafe_b64encode(changed).decode().rstrip("=")
        with pytest.raises(BadCursor):
            cursors.open(of, spelt)


def test_each_other_spelling_of_the_same_bytes_is_refused() -> None:
    cursors, of = Cursors(lambda: KEY), LISTS[0]
    cursor = cursors.seal(of, START)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    others = [cursor[:-1] + letter for letter in alphabet if letter != cursor[-1]]
    for other in [*others, cursor + "=", cursor + "\n", cursor.replace("-", "+") + " "]:
        with pytest.raises(BadCursor):
            cursors.open(of, other)


def test_what_was_a_cursor_before_they_were_sealed_is_refused() -> None:
    owner = Owner("acme", "ada")
    mark = hashlib.sha256(f"tasks|{owner}|{ALL}|{START}".encode()).hexdigest()[:16]
    old = base64.urlsafe_b64encode(json.dumps([START, mark], separators=(",", ":")).encode())
    with pytest.raises(BadCursor):
        Cursors(lambda: KEY).open(list_of(owner), old.decode().rstrip("="))


def test_the_longest_names_and_filters_still_make_a_cursor_within_its_bound() -> None:
    owner = Owner("t" * 64, "u" * 64)
    assert NAME.fullmatch(owner.tenant)
    labels = {f"label{n}": "x" * 60 for n in range(16)}
    now = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
    wanted = Filter(states=frozenset(State), type="x" * 64, since=0, until=now, metadata=labels)
    cursors = Cursors(lambda: KEY)
    cursor = cursors.seal(list_of(owner, wanted), START)
    assert len(cursor) <= MAX_CURSOR
    assert cursors.open(list_of(owner, wanted), cursor) == START


def test_a_forged_or_foreign_cursor_is_422_and_names_the_field() -> None:
    api = ApiWorld()
    for _ in range(3):
        api.submitted()
    cursor = api.get("/v1/tasks", query={"limit": "1"}).json["next_cursor"]
    forged = Cursors(lambda: OTHER_KEY).seal(list_of(ADA.owner), START)
    for who, spelt in ((ADA, forged), (EVE, cursor), (ADA, cursor[::-1])):
        answer = api.get("/v1/tasks", who, query={"cursor": spelt})
        assert (answer.status, answer.code) == (422, "bad_cursor")
        assert [wrong["field"] for wrong in answer.json["errors"]] == ["cursor"]


def test_a_list_that_fits_one_page_never_asks_for_the_key() -> None:
    api = ApiWorld()
    api.submitted()
    assert api.get("/v1/tasks").json["next_cursor"] is None
    assert api.key_reads == 0
    api.submitted()
    assert api.get("/v1/tasks", query={"limit": "1"}).json["next_cursor"]
    assert api.key_reads == 1
