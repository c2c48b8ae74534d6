"""Lark, for a proof, over a long connection."""

import json

from claw.testing.fake_lark import FakeLark
from claw.testing.fake_lark.world import Json, show
from claw.testing.prove.stages import HERE, FakeStage
from claw.testing.prove.verdict import Got, Said


class LarkStage(FakeStage[FakeLark]):
    """A platform that shows a message with one key once."""

    name = "lark"
    takes_files = True
    doubts = 0

    def __init__(self, host: str = HERE) -> None:
        super().__init__(FakeLark(retry_s=1.0), host)

    def open(self) -> None:
        for chat in range(1001, 1101):
            self.platform.world.chat(f"oc_{chat}")
            self.platform.world.people[f"ou_{chat}"] = f"p{chat}"
        super().open()

    def settings(self) -> str:
        """The table of config.toml."""
        return (f'[channels_config.lark]\n'
                f'app_id = "{self.platform.app_id}"\n'
                f'app_secret = "{self.platform.secret}"\n'
                f'allowed_users = {[f"ou_{n}" for n in range(1001, 1101)]}\n'
                f'api_base_url = "{self.platform.url}"\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.platform.say(text, f"oc_{chat}")
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(m["chat_id"].removeprefix("oc_"), self._read(m))
                for m in self.platform.messages()]

    def _read(self, message: Json) -> str:
        if message["msg_type"] == "interactive":
            return show(message)
        found = json.loads(message["body"]["content"])
        return self.platform.world.contents[
            found.get("file_key") or found["image_key"]].decode()
