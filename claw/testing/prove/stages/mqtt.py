"""A broker, for a proof: each chat is a topic. It counts whatever is there
to read, ids or no ids: a repetition must say so in its text."""

from claw.testing.fake_mqtt import FakeMqtt
from claw.testing.prove.stages import HERE
from claw.testing.prove.verdict import Got, Said

_CLIENT = "claw-proof"
_ASK, _REPLY = "claw/ask/", "/reply"


class MqttStage:
    """It knows claw from an earlier day: a broker keeps nothing for those
    who never subscribed."""

    name = "mqtt"
    takes_files = False
    doubts = 1

    def __init__(self, host: str = HERE) -> None:
        self.host = host
        self.server = FakeMqtt(username="claw", password="of the proof")
        self.server.host = host

    def open(self) -> None:
        self.server.up()
        self.server.keep_session(_CLIENT, f"{_ASK}+")

    def close(self) -> None:
        self.server.down()

    def settings(self) -> str:
        """The table of config.toml."""
        people = [f"{_ASK}{chat}" for chat in range(1001, 1101)]
        return (f'[channels_config.mqtt]\n'
                f'broker_url = "{self.server.url}"\n'
                f'username = "claw"\n'
                f'password = "of the proof"\n'
                f'client_id = "{_CLIENT}"\n'
                f'topics = ["{_ASK}+"]\n'
                f'allowed_users = {people}\n')

    def post(self, chat: int, text: str) -> Said:
        """A person writes."""
        self.server.say(f"{_ASK}{chat}", text)
        return Said(str(chat), text)

    def got(self) -> list[Got]:
        """The service's messages, in order."""
        return [Got(m.topic.removeprefix(_ASK).removesuffix(_REPLY), m.text)
                for m in list(self.server.published)]

    def problems(self) -> list[str]:
        return self.server.problems
