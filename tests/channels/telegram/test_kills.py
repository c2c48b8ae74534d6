"""SIGKILLs from outside while texts, files and long answers go out to
several chats at once: what people see in the end."""

import random
import time
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from claw.testing.fake_openai import last_user_text
from claw.testing.fake_telegram import FakeTelegram
from claw.testing.prove.scene import Scene
from claw.testing.prove.stages.telegram import TelegramStage

MARK = "(possibly repeated) "
CHATS = (1001, 1002, 1003, 1004, -77, -1001234567890)
LONG = "lorem ipsum dolor " * 300


def model(body):
    """"f..." is answered with a file, "l..." in several parts."""
    text = last_user_text(body)
    return {"f": f"re:{text}\n[DOCUMENT:report.txt]",
            "l": f"re:{text} {LONG}end:{text}"}.get(text[0], f"re:{text}")


def plain(message):
    return message.text.removeprefix(MARK)


def wanted(asked):
    """What an answer looks like: the kind of each of its messages."""
    return {"f": ["head", "file"], "l": ["head", "rest"]}.get(
        asked[0], ["head"])


def read(messages):
    """(asked, kind, marked) of each message of a chat."""
    asked = ""
    for message in messages:
        text = plain(message)
        if text.startswith("re:"):
            asked = text[3:].split()[0]
        kind = ("file" if message.file_id else
                "head" if text.startswith("re:") else "rest")
        yield asked, kind, message.text.startswith(MARK.strip())


class Kills:
    """A home that is killed again and again, and what came of it."""

    def __init__(self, folder, kills, seed, lacks=()):
        self.random = random.Random(seed)
        self.stage = TelegramStage()
        self.stage.platform = FakeTelegram(lacks=lacks)
        self.wrote = defaultdict(list)
        self.count = 0
        with Scene(folder, self.stage, model=model) as scene:
            (scene.workspace / "report.txt").write_text("it")
            for _ in range(kills):
                self.live(scene)
            last = scene.start()
            deadline = time.monotonic() + 60
            while self.open() and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.5)
            last.stop()
            self.found = sum(bool(e.get("found")) for child in scene.children
                             for e in child.events("sent"))
        self.judge()

    def live(self, scene):
        child = scene.start()
        child.wait_ready(60)
        before = len(self.stage.platform.messages())
        for _ in range(max(0, min(15, 40 - self.open()))):
            self.write()
        limit = time.monotonic() + 8
        while len(self.stage.platform.messages()) == before \
                and time.monotonic() < limit:
            time.sleep(0.002)
        time.sleep(self.random.uniform(0, 0.35))
        child.kill()

    def write(self):
        self.count += 1
        chat = self.random.choice(CHATS)
        text = f"{self.random.choice('mmmmmfl')}{self.count}"
        self.wrote[chat].append(text)
        self.stage.platform.post(text, chat_id=chat, user_id=1001)

    def open(self):
        """How many parts are not there yet."""
        return sum((Counter(
            (text, kind) for text in texts for kind in wanted(text))
            - Counter((asked, kind) for asked, kind, _ in read(
                self.stage.platform.messages(chat)))).total()
            for chat, texts in self.wrote.items())

    def judge(self):
        self.lost, self.doubled, self.marked, self.swapped = \
            self.open(), 0, 0, 0
        for chat, texts in self.wrote.items():
            seen = list(read(self.stage.platform.messages(chat)))
            bare = Counter((a, k) for a, k, marked in seen if not marked)
            self.doubled += sum(n - 1 for n in bare.values())
            self.marked += sum(marked for _, _, marked in seen)
            place = {text: n for n, text in enumerate(texts)}
            order = [place[asked] for asked, _, _ in seen]
            self.swapped += sum(
                a > b for a, b in pairwise(order))
        self.first = {plain(m) == m.history[0].removeprefix(MARK)
                      for m in self.stage.platform.messages()}


@pytest.mark.parametrize("lacks", [(), ("editMessageReplyMarkup",)])
def test_kills_lose_double_and_swap_nothing_and_say_no_ellipsis(
        tmp_path, lacks):
    found = Kills(tmp_path, 5, seed=1, lacks=lacks)

    assert (found.lost, found.doubled, found.swapped) == (0, 0, 0)
    assert found.first == {True}
    assert "…" not in {m.text for m in found.stage.platform.messages()}
    if not lacks:
        assert found.marked <= 1
    assert found.stage.platform.problems == []


if __name__ == "__main__":
    import sys
    import tempfile
    from pathlib import Path
    run = Kills(Path(tempfile.mkdtemp(prefix="look-")), int(sys.argv[1]),
                sys.argv[2], tuple(sys.argv[3:]))
    sys.stdout.write(f"{run.count} messages, {run.lost} lost, {run.doubled} "
                     f"doubled, {run.marked} marked, {run.swapped} swapped, "
                     f"{run.found} found, {run.first}\n")
