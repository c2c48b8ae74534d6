"""The directive /think:LEVEL at the start of a message."""

import msgspec

_LEVELS = {"off": "off", "none": "off", "minimal": "minimal",
           "min": "minimal", "low": "low", "medium": "medium",
           "med": "medium", "default": "medium", "high": "high",
           "max": "max", "maximum": "max"}
_SHIFT = {"off": -0.2, "minimal": -0.1, "low": -0.05, "medium": 0.0,
          "high": 0.05, "max": 0.1}
_PREFIX = {
    "off": "Answer at once, without working through the question first.",
    "minimal": "Think very briefly, then answer.",
    "low": "Keep your reasoning short.",
    "medium": "",
    "high": "Think carefully and check your reasoning before you answer.",
    "max": "Think as thoroughly as you can: weigh alternatives and check "
           "every step before you answer.",
}
_MARK = "/think:"


class Thinking(msgspec.Struct, frozen=True):
    """What a level does to one turn; `prefix` goes before the system
    prompt, `shift` is added to the temperature."""

    message: str
    prefix: str
    shift: float

    def temperature(self, base: float) -> float:
        return min(2.0, max(0.0, base + self.shift))


def read_directive(message: str, default_level: str) -> Thinking:
    """The level of this turn and the message without the directive.

    An unknown level leaves the message as it is.
    """
    level = _LEVELS.get(default_level.lower(), "medium")
    start = message.lstrip()
    if start.startswith(_MARK):
        word, _, rest = start[len(_MARK):].partition(" ")
        word, line, more = word.partition("\n")
        if word.lower() in _LEVELS:
            level = _LEVELS[word.lower()]
            message = (more + " " + rest if line else rest).strip()
    return Thinking(message, _PREFIX[level], _SHIFT[level])
