"""What a map asks, of what, and what becomes of each input."""

import hashlib
import json
from collections.abc import Callable, Sequence

from claw.core.errors import ClawError
from claw.core.provider import Passage
from claw.core.value import Value, replace
from claw.providers.catalog.choice import Choice
from claw.storage.map_answers import KeptAnswer
from claw.wiring.ask.question import Question

# What of a question says nothing of what is asked.
_BESIDE = ("prompt", "passages", "images", "provider", "model", "budget",
           "keep", "timeout_s", "max_cost_usd", "approve_all", "session",
           "continued")


class Input(Value):
    """One input: a line, or the name of a file. `number` is from 1."""

    number: int
    text: str = ""
    file: str | None = None

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to ask about."""
        return self.file is None and not self.text.strip()


class Material(Value):
    """What an input holds: text, and markers of images."""

    text: str
    images: Sequence[str] = ()


class Outcome(Value):
    """What became of an input: an answer, an error, or neither where it is
    blank. `kept`: nobody was asked, it was known."""

    input: Input
    answer: KeptAnswer | None = None
    error: ClawError | None = None
    kept: bool = False


class Task(Value):
    """What all inputs have in common. `fill` puts the text of one into the
    prompt. `title` is the prompt for people, with $input where it stands.
    `fresh`: what was kept before is forgotten."""

    question: Question
    fill: Callable[[str], str]
    title: str
    workers: int = 4
    fresh: bool = False

    def build_question(self, material: Material) -> Question:
        """The question about one input. Its text is a passage, so that an
        image that it names is not looked for. The log has no entry of it:
        answers are kept by their job."""
        return replace(self.question, prompt="", images=material.images,
                       keep=False,
                       passages=[Passage("stdin", self.fill(material.text))])

    def hash_input(self, material: Material) -> bytes:
        """What tells the questions of a job apart."""
        found = hashlib.sha256(self.fill(material.text).encode(
            "utf-8", "surrogatepass"))
        for image in material.images:
            found.update(b"\0" + image.encode())
        return found.digest()[:16]

    def build_id(self, choice: Choice, temperature: float) -> str:
        """The same for whoever asks the same of the same model."""
        asked = {name: value for name, value in vars(self.question).items()
                 if name not in _BESIDE}
        asked |= {"title": self.title, "provider": choice.provider_name,
                  "model": choice.model}
        if asked["temperature"] is None:
            asked["temperature"] = temperature
        text = json.dumps(asked, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
