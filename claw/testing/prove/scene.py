"""One run: a home, a platform, a model, and the children that serve them."""

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from claw.core.errors import ClawError
from claw.storage.queue.reader import open_reader
from claw.storage.session_file import json_object
from claw.testing.fake_openai import FakeOpenAI, Playable, last_user_text
from claw.testing.prove.answers import (
    FILE,
    answer_to,
    file_content,
    file_name,
)
from claw.testing.prove.child import Child, environment
from claw.testing.prove.stages import PreparesHome, Stage
from claw.testing.prove.verdict import Said, Tally, judge

_LOOK_S = 0.02
_SETTLE_S = 0.15


def echo(body: dict[str, Any]) -> str:
    """The model of most proofs."""
    return answer_to(last_user_text(body))


class Scene:
    """Use as a context. `keep` decides at its end whether the folder
    stays."""

    def __init__(self, root: Path, stage: Stage, *,
                 model: Playable = echo, runtime: Path | None = None
                 ) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=root, prefix="run-"))
        self.home = self.folder / "home"
        self.stage = stage
        self.model = FakeOpenAI([model])
        self.model.host = stage.host
        self.wrote: list[Said] = []
        self.children: list[Child] = []
        self.keep = False
        self._runtime = runtime

    def __enter__(self) -> "Scene":
        self.stage.open()
        self.model.__enter__()
        self.workspace.mkdir(mode=0o700, parents=True)
        config = self.home / "config.toml"
        config.touch(mode=0o600)
        config.write_text(_CONFIG.format(url=self.model.url)
                          + self.stage.settings(), "utf-8")
        if isinstance(self.stage, PreparesHome):
            self.stage.prepare(self.home)
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for child in self.children:
            if child.code is None:
                child.kill()
        self.model.__exit__()
        self.stage.close()
        if not self.keep and kind is None:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def queue_file(self) -> Path:
        return self.workspace / "state" / "queue.db"

    def start(self, more: Mapping[str, str] | None = None, *,
              before: tuple[str, ...] = ()) -> Child:
        """Another `claw listen` for this home."""
        log = self.folder / f"listen-{len(self.children) + 1}.log"
        child = Child(self.home, log,
                      environment(self.home, self._runtime, more),
                      before=before)
        self.children.append(child)
        return child

    def post(self, chat: int, text: str) -> None:
        """A person writes; every text must be new in its chat. A file
        that is asked for lies in the workspace."""
        if text.startswith(FILE):
            (self.workspace / file_name(text)).write_text(
                file_content(text), "utf-8")
        self.wrote.append(self.stage.post(chat, text))

    def post_each(self, count: int, text: str, chats: int = 3) -> None:
        """As many numbered messages, over so many chats in turn."""
        for number in range(count):
            self.post(1001 + number % chats, f"{text}{number}")

    def unanswered(self) -> int:
        """How many messages have no answer yet (errors are answers)."""
        return judge(self.wrote, self.stage.got()).lost

    def is_quiet(self) -> bool:
        """Nothing is asked, waits or goes out any more."""
        if self.unanswered() > 0:
            return False
        try:
            with open_reader(self.queue_file) as queue:
                counts = queue.counts()
        except ClawError:
            return False
        return not any(rows[state] for rows in (counts.inbox, counts.outbox)
                       for state in ("waiting", "running", "sending",
                                     "uncertain") if state in rows)

    def wait_quiet(self, timeout_s: float = 30.0,
                   until: Callable[[], bool] = lambda: False) -> bool:
        """Until all is answered and quiet for a moment; False after the
        time, or as soon as `until` says so."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if self.is_quiet():
                time.sleep(_SETTLE_S)
                if self.is_quiet():
                    return True
            if until():
                return False
            time.sleep(_LOOK_S)
        return False

    def sessions(self) -> list[list[str]]:
        """What was said, by the session files."""
        return [_texts(file) for file in sorted(
            (self.workspace / "sessions").glob("*.jsonl"))]

    def tally(self) -> Tally:
        """What people got so far."""
        return judge(self.wrote, self.stage.got())


def _texts(file: Path) -> list[str]:
    """A line that a kill cut off stays, and is passed over."""
    records = map(json_object, file.read_bytes().split(b"\n"))
    return [r["data"]["content"] for r in records if r and "data" in r]


_CONFIG = """\
default_provider = "custom:{url}"
default_model = "fake-model"

[memory]
backend = "none"

[autonomy]
level = "full"
max_actions_per_hour = 1000000

[channels_config]
ack_reactions = false

"""
