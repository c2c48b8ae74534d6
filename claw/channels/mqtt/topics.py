"""Topics: what is one, what a filter matches, where an answer goes. Pure.

An answer goes out with claw's own rights at the broker, so who asks must
not choose where: a response topic counts only where it lies below the topic
of the question or below one of `reply_prefixes`, is no filter, none of the
broker's own ("$SYS/..."), and nothing that claw listens to itself.
"""

from collections.abc import Iterable

from claw.channels.mqtt.packets import TEXT_BYTES, is_odd

TOPIC = "{topic}"  # in reply_topic: that of the question
SHARE = "$share/"


def find_fault(topic: str) -> str | None:
    """Why nothing can be published to a topic; None where it can."""
    if not topic:
        return "it is empty"
    if any(sign in topic for sign in "+#"):
        return "it holds + or #, which are for subscribing"
    if topic.startswith("$"):
        return "what begins with $ is the broker's own"
    return _find_bad_text(topic)


def find_filter_fault(name: str) -> str | None:
    """Why a filter can't be subscribed to; None where it can."""
    if not name:
        return "it is empty"
    if name.startswith(SHARE):
        return "shared subscriptions are made by share_group"
    if name.startswith("$"):
        return "what begins with $ is the broker's own"
    levels = name.split("/")
    for number, level in enumerate(levels):
        if "#" in level and (level != "#" or number + 1 < len(levels)):
            return "# must be the whole last level"
        if "+" in level and level != "+":
            return "+ must be a whole level"
    return _find_bad_text(name)


def _find_bad_text(text: str) -> str | None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "it holds half of a character"
    if any(map(is_odd, text)):
        return "it holds a control character"
    return None if size <= TEXT_BYTES else "it is too long"


def matches(name: str, topic: str) -> bool:
    """Whether a filter matches a topic."""
    wanted, levels = name.split("/"), topic.split("/")
    if topic.startswith("$") and wanted[0] in ("+", "#"):
        return False
    for number, level in enumerate(wanted):
        if level == "#":
            return True
        if number >= len(levels) or level not in ("+", levels[number]):
            return False
    return len(wanted) == len(levels)


def matches_any(filters: Iterable[str], topic: str) -> bool:
    return any(matches(name, topic) for name in filters)


def is_below(topic: str, places: Iterable[str]) -> bool:
    """Whether a topic lies below one of the places."""
    return any(topic.startswith(place.rstrip("/") + "/")
               for place in places if place.strip("/"))


def may_answer_at(wanted: str, asked: str, *, prefixes: Iterable[str],
                  filters: Iterable[str]) -> bool:
    """Whether the response topic of a question asked at `asked` is taken.
    With `filters` that match it the answer would come back as a
    question."""
    return (find_fault(wanted) is None
            and is_below(wanted, (asked, *prefixes))
            and not matches_any(filters, wanted))


def make_reply_topic(form: str, asked: str) -> str:
    """Where the answer goes by the setting reply_topic."""
    return form.replace(TOPIC, asked)
