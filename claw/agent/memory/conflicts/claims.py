"""What a memory says of what, read by the form of its sentences.

A claim is one value of one thing: who and what it is about, and the value.
Two claims about the same can't both hold where their values exclude each
other (values.py). Sentences that ask, guess or tell of what was are none.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from claw.agent.memory.conflicts.forms import NO, YES, Form, load_forms
from claw.agent.memory.recall import is_machine_text
from claw.core.memory import DAILY, MemoryEntry
from claw.text.language import find_language
from claw.text.segment import stem_text, words
from claw.text.stopwords import STOP_WORDS

_CHARS = 2_000
_SENTENCE = 140
_SENTENCES = 20
_KEY_WORDS, _VALUE_CHARS, _VALUE_WORDS = 3, 60, 6
_TOPICS = 4          # stems of what is liked or done
_LEAST, _MOST = 2, 9  # stems of a sentence that is compared whole
_CODE = re.compile("```.*?(?:```|$)", re.DOTALL)
_LABEL = re.compile(r"([^\W\d_][\w .-]{0,30}): (?=\S)")
_ENDS = re.compile(r"(?<=[。！？；])|(?<=[.!?;])(?<!\bDr\.)(?<!\bMr\.)"
                   r"(?<!\bSt\.)(?<!\bNr\.)\s+|\n+"
                   "|, (?=but |though |aber )|，")
_ASKS = re.compile(r"[?？؟]|吗$|嗎$|呢$|か$|까$|니$")
_OPENING = re.compile(
    r"\A(?:(?:well|actually|yeah|yep|yes|no|nope|oh|hey|hi|so|also|and|but|btw"
    r"|fyi|ps|by the way|(?:please )?remember(?: that)?|note(?: that)?"
    r"|übrigens|also|ja|nein|aber|und|merk dir|其实|其實|对了|不过|그런데|근데"
    r"|사실|실은|実は|ちなみに)(?:[,:，、] ?| ))+", re.IGNORECASE)
# Not what is: what was, may be, or is someone else's word.
_UNSURE = re.compile(
    r"\b(?:if|when|maybe|perhaps|might|could|would|wouldn|should|used to"
    r"|no longer sure|not sure|think|thought|guess|hope|hoping|wish|said|says"
    r"|seems?|almost|sometimes|anyone|everyone|nobody|who|whoever|once|was"
    r"|were|let|don't you|wenn|falls|vielleicht|früher|damals|würde|könnte"
    r"|hätte|glaube|soll)\b|以前|如果|可能|也许|也許|曾|예전|만약|아마|昔|もし|たぶん"
    r"|かも", re.IGNORECASE)
# Of a day, and no lasting state.
_TODAY = re.compile(r"\b(?:today|tonight|this (?:morning|evening|week)|heute"
                    "|morgen)\\b|오늘|今天|今日|今晚", re.IGNORECASE)
_LASTING = ("live", "work", "job")
_REST = re.compile(
    r"(?:,| (?:with|since|because|cause|'cause|cuz|but|and|so|for|which"
    r"|where|that|while|right now|now|at the moment|these days|nowadays"
    r"|currently|too|as well|instead|mit|seit|weil|und|aber|jetzt|auch)\b"
    r"|、).*", re.IGNORECASE | re.DOTALL)
_POINTS_WORDS = """he she they we it that this these those them you your yours
him her his their its how what when where who why to being all everything
something anything nothing so much more doing seeing dich dein deine"""
_POINTS = frozenset(_POINTS_WORDS.split())
# What is done without a word of what.
_HABIT = re.compile("smoke|drink|drive|swim|dance|rauch", re.IGNORECASE)
_NAMED = re.compile(r"\b[A-ZÀ-ÞА-Я]|[0-9]")
_SELF_WORDS = """i my me mine i'm ich mein meine meinen meinem meiner user
owner 나는 저는 난 전 내 제 나의 저의 我 私 僕 俺"""
_SELF = frozenset(_SELF_WORDS.split())
_SPELT = {"favorite": "favourite", "color": "colour", "fave": "favourite"}
_AGAIN = frozenset(("new", "current", "neu", "neue", "neuer", "neues"))
_NOT_WORDS = re.compile(
    r"\b(?:do|does|did)(?: not|n['’]t)\b|(?<=\w)n['’]t\b|\b(?:not|never|no"
    r"|any|anymore|nicht|kein\w*|nie|niemals|nunca|jamás|ne|pas|jamais|non"
    r"|não|не|нет|никогда|niet|geen|nooit|inte|aldrig|değil|hiç|لا|ليس|لم"
    r"|لن|tidak|bukan|không)\b|नहीं|ไม่|[不没沒]|\b[안못] ", re.IGNORECASE)
_FORMED = frozenset(("en", "de", "ko", "zh", "ja", "latin"))
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_FIELD = re.compile(r"(?P<what>(?:[^\W\d_]|[ -]){3,30}): ?(?P<value>\S+)")
_FIELD_NAMES = re.compile("pass|code|pin|name|addres|nummer|number",
                          re.IGNORECASE)
_NAMELESS = re.compile(
    r"\d|^(?:user_msg|assistant_resp|core|daily|note|memory|item|fact|todo"
    r"|idea)", re.IGNORECASE)


class About(NamedTuple):
    """Who and what a claim is about. Equal ones are about the same."""

    who: str
    topic: str
    what: tuple[str, ...]


class Claim(NamedTuple):
    """What a memory says. `value` as it is written; with `strict` only
    names, numbers and times in it count."""

    entry: MemoryEntry
    about: About
    value: str
    strict: bool
    sentence: str


class Said(NamedTuple):
    """What a memory says, sentence by sentence (without code, and not all
    of a long text), and who says it: "" is the owner."""

    speaker: str
    sentences: list[str]
    labelled: bool


def read_said(entry: MemoryEntry) -> Said:
    """The sentences of a memory; none of what an assistant said or a
    program wrote for itself."""
    text = _CODE.sub("\n", entry.content[:_CHARS])
    if entry.sender == "assistant" or is_machine_text(text):
        return Said("", [], labelled=False)
    label = _LABEL.match(text) if entry.sender is None else None
    if label and "\n" not in text and _FIELD.fullmatch(text):
        label = None  # "wifi password: hunter2"
    return Said((entry.sender or (label[1] if label else "")).lower(),
                _ENDS.split(text[label.end():] if label else text
                            )[:_SENTENCES], labelled=label is not None)


def read_claims(entry: MemoryEntry, said: Said) -> Iterator[Claim]:
    """The claims of a memory."""
    speaker, sentences, labelled = said
    found = False
    for part in sentences:
        sentence = _OPENING.sub("", part.strip().rstrip(".!。！;； \"'"), 1)
        if 2 < len(sentence) <= _SENTENCE and not _ASKS.search(part) \
                and not _UNSURE.search(sentence):
            for claim in _read_sentence(entry, speaker, sentence):
                found = True
                yield claim
    if not found and not labelled and sentences \
            and (named := _read_key(entry, entry.content)):
        yield named


def _read_sentence(entry: MemoryEntry, speaker: str, sentence: str
                   ) -> Iterator[Claim]:
    language = "latin" if sentence.isascii() else find_language(sentence)
    script = language if language in ("ko", "zh", "ja") else "latin"
    straight = sentence.replace("’", "'")
    for form in load_forms(script):
        if match := form.pattern.fullmatch(straight):
            claim = _build(entry, speaker, sentence, form, {
                name: part for name, part in match.groupdict().items()
                if part})
            if claim is not None:
                yield claim
                return
    yield from _read_whole(entry, speaker, sentence, language)


def _build(entry: MemoryEntry, speaker: str, sentence: str, form: Form,
           parts: dict[str, str]) -> Claim | None:
    """The claim of a sentence that fits a form; None where it points at
    something outside it, or names too much."""
    what = _REST.sub("", parts.get("what", "")).lower()
    value = form.answer or _REST.sub("", parts.get("value", "")).strip()
    doing = parts.get("do") or parts.get("do_") or ""
    topics = read_stems(f"{doing} {what}")
    plain = words(what)
    if not value or _POINTS.intersection(plain) \
            or _POINTS.intersection(words(value)[:1]) \
            or len(topics) > _TOPICS or (form.answer and not topics) \
            or (form.answer and doing and not plain
                and not _HABIT.match(doing)) \
            or (form.strict and not _NAMED.search(value)) \
            or _is_of_a_day(entry, form, sentence):
        return None
    who, *rest = _find_who(parts.get("who", ""), speaker)
    return Claim(entry, About(who, form.topic, (*rest, *topics)), value,
                 form.strict, sentence)


def _is_of_a_day(entry: MemoryEntry, form: Form, sentence: str) -> bool:
    """Whether a sentence may be true of its day alone: a journal counts and
    dates what comes every day anew."""
    if form.topic in _LASTING:
        return False
    return _TODAY.search(sentence) is not None or (
        entry.category == DAILY and (form.strict or form.topic == "has"))


def _find_who(given: str, speaker: str) -> tuple[str, ...]:
    """Whom a sentence is about: the speaker, someone of his ("my sister"),
    or another by name."""
    parts = given.lower().removesuffix("'s").removesuffix("'m").split()
    bare = [part for part in parts if part not in _SELF and part != "the"]
    if not bare:
        return (speaker,)
    if bare == parts and len(given) < 40:
        name = re.sub("[은는이가]$", "", " ".join(bare))
        return ("" if name in _SELF else name,)
    return (speaker, *map(stem_text, bare))


def read_stems(text: str) -> tuple[str, ...]:
    """The stems of what is spoken of, each once, in the order of the
    alphabet."""
    return tuple(sorted({
        stem_text(_SPELT.get(word, word)) for word in words(text)
        if word not in STOP_WORDS and word not in _AGAIN
        and word not in _SELF}))


def _read_whole(entry: MemoryEntry, speaker: str, sentence: str,
                language: str) -> Iterator[Claim]:
    """A short sentence as a whole: that it says no; and, where no forms are
    known for its language, its one number."""
    if (found := _FIELD.fullmatch(sentence)) and (
            _FIELD_NAMES.search(found["what"])
            or any(map(str.isdigit, found["value"]))):
        yield Claim(entry, About("", "is", read_stems(found["what"])),
                    found["value"], False, sentence)
        return
    bare, number = _NOT_WORDS.subn(" ", sentence.lower())
    core = tuple(stem_text(bare).split())
    if _LEAST < len(core) <= _MOST and _POINTS.isdisjoint(words(sentence)):
        yield Claim(entry, About(speaker, "says", core),
                    NO if number else YES, False, sentence)
    numbers = _NUMBER.findall(sentence)
    if len(numbers) == 1 and (
            find_language(sentence) if sentence.isascii()
            else language) not in _FORMED:
        rest = tuple(stem_text(_NUMBER.sub(" ", sentence)).split())
        if _LEAST < len(rest) <= _MOST:
            yield Claim(entry, About(speaker, "number", rest), numbers[0],
                        True, sentence)


def _read_key(entry: MemoryEntry, text: str) -> Claim | None:
    """A short text under a key that names what it is: "address"."""
    key = entry.key.replace("_", " ").replace("-", " ")
    if _NAMELESS.search(entry.key) or len(key.split()) > _KEY_WORDS \
            or len(text) > _VALUE_CHARS or "\n" in text.strip() \
            or len(text.split()) > _VALUE_WORDS or entry.sender is not None \
            or not (what := read_stems(key)):
        return None
    return Claim(entry, About("", "is", what), text.strip(), False, text)
