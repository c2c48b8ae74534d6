"""A service that breaks a promise is found out: a real `claw listen` whose
calls of the Bot API are made wrong on purpose, in its own process."""

import os
import textwrap
from pathlib import Path

import pytest

import claw
from claw.testing.prove import Proof
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage

_PATCH = """\
import claw.channels.telegram.api as api
_call = api.BotApi.call

async def call(self, method, params=None, **named):
    async def go(method=method, **changes):
        return await _call(self, method, {{**(params or {{}}), **changes}},
                           **named)
    text = (params or {{}}).get("text") or ""
{body}
    return await go()

api.BotApi.call = call
"""

# name -> (what the service does wrong, the count that sees it)
SABOTAGES = {
    "a file is sent twice": ("""
        if method == "sendDocument":
            await go()
        """, "doubled_files"),
    "a part of a long answer is sent twice": ("""
        if method != "sendChatAction" and "(2 of 3)" in text:
            await go("sendMessage")
        """, "doubled_parts"),
    "a notification shows a placeholder": ("""
        if method == "sendMessage" and text.startswith("re:"):
            sent = await go(text="…")
            await go("editMessageText", message_id=sent["message_id"])
            return sent
        """, "wrong_notifications"),
    "a notification shows half the answer": ("""
        if method == "sendMessage" and text.startswith("re:"):
            sent = await go(text=text[:4])
            await go("editMessageText", message_id=sent["message_id"])
            return sent
        """, "wrong_notifications"),
    "a placeholder is left": ("""
        if "re:file" in text:
            await go("sendMessage", text="…")
        """, "strays"),
    "half an answer is left": ("""
        if "(1 of 3)" in text:
            await go("sendMessage", text=text[:2000])
        """, "strays"),
    "a short answer is sent twice": ("""
        if text == "re:c":
            await go("sendMessage")
        """, "duplicates"),
}


def serve(tmp_path, body):
    """One life of a service that is made wrong; what people got."""
    proof = Proof("kills-telegram", "telegram")
    with Scene(tmp_path, TelegramStage()) as scene:
        patch = scene.folder / "patch"
        patch.mkdir()
        (patch / "sitecustomize.py").write_text(_PATCH.format(
            body=textwrap.indent(textwrap.dedent(body), "    ")), "utf-8")
        child = scene.start({"PYTHONPATH": os.pathsep.join(
            [str(patch), str(Path(claw.__file__).parents[1])])})
        child.wait_ready()
        for text in ("file a", "long b", "c"):
            scene.post(1001, text)
        assert scene.wait_quiet(), child.last_words()
        proof.take(scene)
        assert child.stop() == 0
    return proof.judge()


@pytest.mark.parametrize("name", SABOTAGES)
def test_a_broken_promise_is_seen(tmp_path, name):
    body, field = SABOTAGES[name]

    proof = serve(tmp_path, body)

    counted = proof.to_json()
    assert counted[field] > 0, counted
    assert counted["lost"] == 0
    assert proof.broken


def test_a_service_that_keeps_its_promises_breaks_none(tmp_path):
    assert serve(tmp_path, "pass").broken == []
