"""Memory on the page: search with reasons, conflicts, forgetting, undo."""

import asyncio
import json
from urllib.parse import quote

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.wiring.memory import open_backend
from tests.wiring.gateway.page_scene import signed_in


def run(home, act, *memories):
    places = locate(str(home), env={"HOME": str(home)})
    if memories:
        with open_backend(load(places)) as memory:
            for key, content in memories:
                memory.store(key, content)

    async def go():
        async with signed_in(home) as browser:
            return await act(browser)
    return asyncio.run(go())


async def look(browser, path, **asked):
    answer = await browser.get(f"/page/api/{path}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def do(browser, path, **body):
    return await browser.post(f"/page/api/{path}", json=body)


HOMES = (("basel", "I live in Basel"), ("porto", "I live in Porto"))


def test_a_search_says_why_each_was_found(tmp_path):
    async def act(browser):
        return await look(browser, "memory", q="which colour does Mina like")

    [first, *_] = run(tmp_path, act, ("colour", "Mina likes green"),
                      ("tea", "The tea is on the shelf"))["results"]

    assert first["key"] == "colour"
    assert 0 < first["score"] <= 1
    assert "confidence" in first["why"]


def test_no_words_give_the_newest(tmp_path):
    async def act(browser):
        return await look(browser, "memory", q=" ")

    found = run(tmp_path, act, *HOMES)["results"]

    assert {one["key"] for one in found} == {"basel", "porto"}
    assert all(one["why"] == {} for one in found)


def test_looking_makes_no_memory(tmp_path):
    async def act(browser):
        await look(browser, "conflicts")
        return await look(browser, "memory", q="x")

    assert run(tmp_path, act)["results"] == []
    assert not (tmp_path / "workspace" / "memory").exists()


def test_what_was_forgotten_is_back_after_undo(tmp_path):
    async def act(browser):
        gone = await do(browser, "memory/forget", key="basel")
        between = await look(browser, "memory", q="")
        back = await do(browser, "memory/undo", key="basel")
        return gone, between, back, await look(
            browser, "memory/history", key="basel")

    gone, between, back, history = run(tmp_path, act, *HOMES)

    assert gone.json() == {"key": "basel"}
    assert [one["key"] for one in between["results"]] == ["porto"]
    assert back.json()["memory"]["content"] == "I live in Basel"
    assert history["versions"][0]["content"] == "I live in Basel"


def test_keeping_one_of_a_pair_hides_the_other_until_undo(tmp_path):
    async def act(browser):
        pair = (await look(browser, "conflicts"))["conflicts"][0]
        done = await do(browser, "conflicts/settle", keep=pair["first"],
                        other=pair["second"])
        left = await look(browser, "conflicts")
        await do(browser, "memory/undo", key=pair["second"]["key"])
        return pair, done, left, await look(browser, "conflicts")

    pair, done, left, again = run(tmp_path, act, *HOMES)

    assert {pair["first"]["says"], pair["second"]["says"]} \
        == {"I live in Basel", "I live in Porto"}
    assert done.json() == {"hidden": pair["second"]["key"]}
    assert left["total"] == 0
    assert again["total"] == 1


def test_a_pair_that_may_stand_is_not_shown_again(tmp_path):
    async def act(browser):
        pair = (await look(browser, "conflicts"))["conflicts"][0]
        await do(browser, "conflicts/settle", keep=pair["first"],
                 other=pair["second"], both=True)
        return await look(browser, "conflicts"), await look(
            browser, "memory", q="")

    left, found = run(tmp_path, act, *HOMES)

    assert left["total"] == 0
    assert len(found["results"]) == 2


def test_a_pair_that_was_changed_meanwhile_is_left_alone(tmp_path):
    async def act(browser):
        pair = (await look(browser, "conflicts"))["conflicts"][0]
        pair["first"]["id"] = "another"
        return await do(browser, "conflicts/settle", keep=pair["first"],
                        other=pair["second"]), await look(
                            browser, "conflicts")

    refused, left = run(tmp_path, act, *HOMES)

    assert refused.status_code == 409
    assert "changed meanwhile" in refused.json()["error"]
    assert left["total"] == 1


@pytest.mark.parametrize(("path", "body", "status"), [
    ("memory/forget", {"key": "nobody"}, 404),
    ("memory/forget", {"key": 7}, 400),
    ("memory/forget", {}, 400),
    ("memory/undo", {"key": "nobody"}, 404),
    ("conflicts/settle", {"keep": "a", "other": "b"}, 400),
    ("conflicts/settle", {}, 400),
])
def test_nonsense_changes_nothing(tmp_path, path, body, status):
    async def act(browser):
        return await do(browser, path, **body), await look(
            browser, "memory", q="")

    answer, left = run(tmp_path, act, *HOMES)

    assert answer.status_code == status
    assert len(left["results"]) == 2


@pytest.mark.parametrize("text", [
    "\ud800", "a\0b", "x" * 60_000, "\U0010ffff", "'; DROP TABLE x; --",
    "\u202e", "*", '"', "(", "NEAR(a b)"])
def test_odd_words_are_no_fault_of_ours(tmp_path, text):
    async def act(browser):
        found = [await browser.post(f"/page/api/{path}", content=json.dumps(
            body)) for path, body in (
                ("memory/forget", {"key": text}),
                ("memory/undo", {"key": text}),
                ("conflicts/settle", {"keep": {"id": text, "key": text},
                                      "other": {"id": text, "key": text}}),
                ("chat/answer", {"id": text, "answer": text}))]
        word = text[:2_000].encode("utf-8", "surrogatepass")
        return found + [await browser.get(f"/page/api/{path}={quote(word)}")
                        for path in ("memory?q", "memory/history?key",
                                     "turn?id", "spending?days")]

    found = run(tmp_path, act, *HOMES)

    assert [one.status_code for one in found if one.status_code >= 500] == []
