"""A photo that comes through a channel reaches the model, and nothing
else of the disk does."""

import base64

import pytest

from claw.agent.images.images import Images
from claw.agent.images.store import ImageStore
from claw.agent.settings import MultimodalSettings
from claw.core.channel import Attachment
from claw.security.files.paths import PathRules
from claw.testing.scripted import ScriptedProvider

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
DATA = f"[IMAGE:data:image/png;base64,{base64.b64encode(PNG).decode()}]"
KEY = "memory_alice_alice"


def seeing(*script):
    return ScriptedProvider(list(script), vision=True)


@pytest.fixture
def album(tmp_path):
    """Saves photos as a channel does, and shows them to models."""
    folder = tmp_path / "memory_files"
    folder.mkdir()
    rules = PathRules(roots=(tmp_path.resolve(),), forbidden=(),
                      workspace_only=True, home=tmp_path)
    images = Images(MultimodalSettings(), ImageStore(rules))

    class Album:
        agent = {"images": lambda: images}

        @staticmethod
        def photo(chat="alice", number=1):
            path = folder / f"memory_{chat}_{number}_photo.png"
            path.write_bytes(PNG)
            return str(path)
    return Album


def users(provider, request=-1):
    return [m.content for m in provider.requests[request].messages
            if m.role == "user"]


async def test_a_photo_reaches_the_model_and_the_files_keep_its_path(
        stage, album):
    path = album.photo()
    async with stage(seeing("a cat", "red"), agent=album.agent) as s:
        s.channel.say(f"[IMAGE:{path}]\n\nwhat is it?", attachments=(
            Attachment(path, "photo.png", "image/png", len(PNG)),))
        assert await s.answers(1) == ["a cat"]
        s.channel.say("which colour?")
        await s.answers(2)
        await s.idle()

        assert users(s.provider, 0) == [f"{DATA}\n\nwhat is it?"]
        assert users(s.provider, 1) == [f"{DATA}\n\nwhat is it?",
                                        "which colour?"]
        assert s.saved(KEY)[0] == ("user",
                                   f"[IMAGE:{path}]\n\nwhat is it?")
    for file in s.folder.rglob("*"):
        if file.is_file() and "memory_files" not in str(file):
            assert b"base64" not in file.read_bytes(), file


@pytest.mark.parametrize("ref", [
    "memory_files/memory_bob_1_photo.png", "secret.png", "/etc/passwd",
    "../x.png", "sessions/a.png"])
async def test_a_person_sees_no_photo_of_another_chat(stage, album, ref):
    album.photo("bob")
    async with stage(seeing("what?"), agent=album.agent) as s:
        (s.folder / "secret.png").write_bytes(PNG)
        s.channel.say(f"describe [IMAGE:{ref}]")
        assert await s.answers(1) == ["what?"]

        assert users(s.provider) == [
            "describe [image not shown: it was not sent in this chat]"]
        assert s.said("notice")


async def test_a_photo_for_a_model_that_sees_none_is_said_and_not_kept(
        stage, album):
    path = album.photo()
    async with stage(ScriptedProvider(["fine"]), agent=album.agent) as s:
        s.channel.say(f"[IMAGE:{path}]")
        answer, = await s.answers(1)
        assert "capability=vision" in answer
        assert "vision_provider" in answer
        s.channel.say("never mind")
        assert (await s.answers(2))[1] == "fine"
        await s.idle()

        assert users(s.provider) == ["never mind"]
        assert s.saved(KEY) == [("user", "never mind"),
                                ("assistant", "fine")]


async def test_a_photo_that_is_gone_leaves_the_turn_whole(stage, album):
    async with stage(seeing("I see none"), agent=album.agent) as s:
        s.channel.say(f"[IMAGE:{album.photo()}.gone] what is it?")

        assert await s.answers(1) == ["I see none"]
        assert users(s.provider) == [
            "[image not shown: there is no such file] what is it?"]
