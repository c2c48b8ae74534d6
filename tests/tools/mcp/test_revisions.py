"""Our client against the package's own server: both revisions, both
transports."""

from contextlib import contextmanager

import pytest
from mcp_desk import Approver, http_server

WAYS = [
    ("stdio", (), "2026-07-28"),
    ("stdio", ("--legacy",), "2025-11-25"),
    ("http", (), "2026-07-28"),
    ("http", ("--legacy",), "2025-11-25"),
]


@contextmanager
def serve(desk, transport, words):
    if transport == "stdio":
        yield desk.demo(*words)
    else:
        with http_server(*words) as url:
            yield desk.at(url)


@pytest.mark.parametrize(("transport", "words", "revision"), WAYS)
def test_tools_are_listed_accepted_and_called(desk, transport, words,
                                              revision):
    with serve(desk, transport, words) as server:
        tools = desk.accept(server)
        desk.policy.approver = approver = Approver("yes")
        done = desk.call_all(
            (tools["add"], {"a": 2, "b": 3}),
            (tools["add"], {"a": 2, "b": 3, "approved": True, "c": None}),
            (tools["fail"], {}), (tools["picture"], {}),
            (tools["confirm"], {}))

    assert desk.listing.protocol == revision
    assert desk.listing.server == "demo 1.0"
    assert [(each.success, each.output or each.error) for each in done] == [
        (True, "5"), (True, "5"),
        (False, "Error executing tool fail: out of tea"),
        (True, "[image/png, 4 bytes, not shown]"),
        (True, "deleted: True\n"
               "[the server asked: Really delete it? -> yes]")]
    (request,) = approver.asked
    assert request.summary == "Really delete it?"
    assert request.tool == "demo__confirm"
    assert not request.may_remember


@pytest.mark.parametrize(("transport", "words", "revision"), WAYS[:2])
def test_a_question_is_declined_at_once_where_no_yes_answers_it(
        desk, transport, words, revision):
    with serve(desk, transport, words) as server:
        tools = desk.accept(server)
        alone = desk.call(tools["confirm"])
        desk.policy.approver = approver = Approver("no")
        refused, form, nagged = desk.call_all(
            (tools["confirm"], {}), (tools["form"], {}),
            (tools["nag"], {}))

    assert alone.output.startswith("kept")
    assert refused.output == ("kept\n[the server asked: Really delete it? "
                              "-> declined]")
    assert form.output.startswith("not told")  # a yes is no name and no age
    assert len(approver.asked) == 1
    assert not nagged.success
    if not words:
        assert "more than 5 rounds" in nagged.error
