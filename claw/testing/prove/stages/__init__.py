"""Platforms for a proof: people write on them, and what they got is read
off them from outside. One file a platform, and one row here."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar, runtime_checkable

from claw.core.registry import Registry
from claw.testing.prove.verdict import Got, Said

HERE = "127.0.0.1"
STAGES = Registry("stage", "claw.stages", {
    "telegram": "claw.testing.prove.stages.telegram:TelegramStage",
    "discord": "claw.testing.prove.stages.discord:DiscordStage",
    "slack": "claw.testing.prove.stages.slack:SlackStage",
    "mattermost": "claw.testing.prove.stages.mattermost:MattermostStage",
    "matrix": "claw.testing.prove.stages.matrix:MatrixStage",
    "irc": "claw.testing.prove.stages.irc:IrcStage",
    "email": "claw.testing.prove.stages.email:EmailStage",
    "mqtt": "claw.testing.prove.stages.mqtt:MqttStage",
    "lark": "claw.testing.prove.stages.lark:LarkStage",
    "whatsapp": "claw.testing.prove.stages.whatsapp:WhatsappStage",
    "dingtalk": "claw.testing.prove.stages.dingtalk:DingtalkStage",
    "imessage": "claw.testing.prove.stages.imessage:ImessageStage",
    "signal": "claw.testing.prove.stages.signal:SignalStage",
    "qq": "claw.testing.prove.stages.qq:QqStage",
    "line": "claw.testing.prove.stages.line:LineStage",
    # The last one: the short set runs on the first and on it.
    "webhook": "claw.testing.prove.stages.webhook:WebhookStage",
})


class Server(Protocol):
    """What a network takes away: a fake that goes and comes back."""

    def up(self) -> None: ...

    def down(self) -> None: ...

    def kill_connections(self) -> int: ...


class Stage(Protocol):
    """A platform, made with `host`, the address that it listens at.

    `doubts` says how many messages may be on their way, and so in doubt,
    when the process is struck (as many chats are sent to at once); 0 where
    the platform tells afterwards what arrived, or shows one key once.
    """

    name: str
    takes_files: bool
    doubts: int
    host: str

    @property
    def server(self) -> Server:
        """What claw connects to."""

    def open(self) -> None: ...

    def close(self) -> None: ...

    def settings(self) -> str:
        """The table of config.toml."""

    def post(self, chat: int, text: str) -> Said:
        """A person writes; chats are 1001 and above."""

    def got(self) -> list[Got]:
        """The service's messages, in order."""

    def problems(self) -> Sequence[str]:
        """Calls that the platform would not have."""


@runtime_checkable
class PreparesHome(Protocol):
    """A stage that needs more in the home than a table of config.toml."""

    def prepare(self, home: Path) -> None: ...


class Fake(Server, Protocol):
    """A whole platform."""

    host: str

    @property
    def problems(self) -> list[str]:
        """Calls that the platform would not have."""


F = TypeVar("F", bound=Fake)


class FakeStage(Generic[F]):
    """What the stages of one fake have in common."""

    def __init__(self, platform: F, host: str) -> None:
        self.host = host
        self.platform = platform
        self.platform.host = host

    @property
    def server(self) -> F:
        return self.platform

    def open(self) -> None:
        self.platform.up()

    def close(self) -> None:
        self.platform.down()

    def problems(self) -> list[str]:
        return self.platform.problems


class Posting(Fake, Protocol):
    """A platform that posts to the gateway."""

    callback: str | None

    def stop_posting(self) -> None: ...


P = TypeVar("P", bound=Posting)


class PostedStage(FakeStage[P]):
    """What the stages of platforms that post have in common; `port` and
    `path` are where the gateway listens for them."""

    path = ""

    def __init__(self, platform: P, host: str) -> None:
        super().__init__(platform, host)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])

    def open(self) -> None:
        super().open()
        self.platform.callback = f"http://127.0.0.1:{self.port}{self.path}"

    def close(self) -> None:
        self.platform.stop_posting()
        super().close()

    def settings(self) -> str:
        """The table of the gateway."""
        return f"[gateway]\nenabled = true\nport = {self.port}\n\n"


def open_stage(name: str, host: str = HERE) -> Stage:
    """The stage of a channel."""
    stage: Stage = STAGES.load(name)(host=host)
    return stage
