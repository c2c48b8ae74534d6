"""A question that a memory answers, made by rule.

A sentence that fits a form is asked the way a person would ("I live in
Oslo" -> "where do I live?"). Of any other one some of the rarest words are
asked for in another order, one of them in another form, and without the
word that would be the answer. A question uses the memory's own words: what
it can't tell is whether other words would find it.
"""

import random
import re
from collections.abc import Mapping
from typing import NamedTuple

from claw.core.memory import CONVERSATION, MemoryEntry
from claw.text.language import find_language
from claw.text.segment import (
    find_script,
    is_spaceless,
    query_terms,
    stem_text,
    words,
)
from claw.text.stopwords import WEAK_WORDS

_SENTENCE = 300
_KEPT = 3       # words of a question
_PIECE = 4      # characters of Han that are asked for at once
_RUN = 8        # of scripts without spaces otherwise
_TOPIC = "topic"  # a word that no query leaves out
_LABEL = re.compile(r"([^\W\d_][\w .-]{0,30}): (?=\S)")
_ENDS = re.compile(r"(?<=[.!?。！？…।])\s*|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
# Keys that programs made, or that name nothing.
_NAMELESS = re.compile(
    r"\d|^(?:user_msg|assistant_resp|core|daily|note|memory|item|fact)\b",
    re.IGNORECASE)
_HAN_BREAKS = re.compile(
    "[的了吗嗎呢吧是在我你您他她它们們这這那和与與就都也有不没沒很会會去来來到"
    "说說把被跟给給让讓]+")
_KO_ENDINGS = re.compile(
    "(?:에서|에게|으로|까지|부터|은|는|이|가|을|를|에|의|로|와|과|도|만)$")

# language, whole sentence, question. What is not asked for is the answer.
_FORMS = tuple((language, re.compile(form, re.IGNORECASE), question)
               for language, form, question in (
    ("en", r"i(?:'m| am)? (?:now |still |currently )?(?P<do>live|living|work"
     r"|working|study|studying)(?: in| at| for| as)? \S.*",
     "where do I {do}?"),
    ("en", r"my (?P<what>[\w' -]{3,30}?) (?:is|are|was)(?: on| at| in)? "
     r"\S.{0,60}", "what is my {what}?"),
    ("en", r"(?P<who>\w+)['’]s (?P<what>[\w -]{3,30}?) (?:is|are|was) "
     r"\S.{0,60}", "what is {who}'s {what}?"),
    ("en", r"(?P<who>(?!i\b|we\b|you\b|they\b|it\b)\w+) (?P<do>likes|loves"
     r"|prefers|hates|owns|speaks|drinks|plays) \S.{0,60}",
     "what is it that {who} {do}?"),
    ("en", r"the (?P<what>[\w' -]{3,30}?) (?:is|are) (?:in|on|at|under"
     r"|behind|beside) \S.{0,60}", "where is the {what}?"),
    ("en", r"(?:the |my )?(?P<what>[\w' -]{3,30}?) costs? \S.{0,40}",
     "how much does {what} cost?"),
    ("de", r"ich (?P<do>wohne|lebe|arbeite|studiere) \S.*", "wo {do} ich?"),
    ("de", r"(?P<my>meine?) (?P<what>[\w -]{3,30}?) (?:ist|sind|heißt|war"
     r"|lautet) \S.{0,60}", "was ist {my} {what}?"),
    ("ko", "(?:나는|저는|난|전) \\S.{0,20}에서? (?P<do>살|일)\\S.{0,10}",
     "나는 어디에서 {do}고 있지?"),
    ("ko", "(?P<my>내|제|우리) (?P<what>\\S{2,10}?(?: \\S{2,8})?)[은는이가] "
     ".{1,30}", "{my} {what} 뭐였지?"),
    ("zh", "我(?:现在|現在)?(?P<do>住在|在)\\S{2,15}", "我{do}哪里？"),
    ("zh", "(?P<who>我|\\S{2,3}?)的(?P<what>[^是叫在]{2,6})(?:是|叫|在)"
     "\\S{1,20}", "{who}的{what}是什么？"),
    ("ja", "(?:私は)?\\S{2,12}に(?P<do>住んで|勤めて)\\S{2,6}",
     "私はどこに{do}いますか"),
    ("ja", "(?P<who>私の|\\S{1,6}の)(?P<what>[^はが、]{2,8})は\\S{2,20}",
     "{who}{what}は何ですか"),
))
# How a question begins where no form fits; {who} is who said it.
_FRAMES = {
    "en": ("what about {words}?", "what did {who} say about {words}?"),
    "de": ("was war mit {words}?", "was hat {who} über {words} gesagt?"),
    "es": ("¿qué hay de {words}?", "¿qué dijo {who} de {words}?"),
    "fr": ("quoi au sujet de {words} ?", "que disait {who} de {words} ?"),
    "ru": ("что там про {words}?", "что {who} говорил о {words}?"),
    "ko": ("{words} 뭐였지?", "{who} {words} 뭐라고 했지?"),
    "zh": ("关于 {words} 呢？", "{who}说过什么 {words} ？"),
    "ja": ("{words}について", "{who}は{words}について何と")}
# Words of a question that are not the memory's.
FRAME_WORDS = frozenset(
    word for frames in _FRAMES.values() for frame in frames
    for word in query_terms(frame.format(who="", words="")))


class Question(NamedTuple):
    """What is asked, and which memory answers it."""

    entry: MemoryEntry
    text: str
    language: str


def make_question(entry: MemoryEntry, rarity: Mapping[str, float],
                  chance: random.Random) -> Question | None:
    """A question by rule; None where a memory says too little for one.

    `rarity` is how rare a stem is among the memories, 0 to 1; what it
    doesn't know is rare.
    """
    text = entry.content
    language = find_language(text)
    label = _LABEL.match(text)
    sentences = [part.strip(" \t.!?。！？…\"'") for part in
                 _ENDS.split(text[label.end():] if label else text)]
    asked = _fill_form(sentences, language) \
        or _ask_words(sentences, entry, label[1] if label else None,
                      language, rarity, chance) \
        or _ask_key(entry)
    return Question(entry, asked, language) if asked else None


def _fill_form(sentences: list[str], language: str) -> str | None:
    """The question of the first sentence that fits a form and leaves a word
    to look for."""
    for sentence in sentences[:3]:
        if len(sentence) > _SENTENCE:
            continue
        for of, form, question in _FORMS:
            # "Mina likes green" has no small word that says English.
            if of != language and (of, language) != ("en", "latin"):
                continue
            if found := form.fullmatch(sentence):
                parts = found.groupdict()
                if not WEAK_WORDS.issuperset(
                        query_terms(" ".join(parts.values()))):
                    return question.format(**parts)
    return None


def _ask_words(sentences: list[str], entry: MemoryEntry, label: str | None,
               language: str, rarity: Mapping[str, float],
               chance: random.Random) -> str | None:
    """Some of the rarest words of one sentence, but for the answer."""
    # What is said in passing ("that's great") is asked for by nobody.
    least = 3 if label or entry.category == CONVERSATION else 2
    found = [topics for sentence in sentences
             if len(topics := find_words(sentence[:_SENTENCE])) >= least]
    if not found:
        return None
    most = max(map(len, found))
    chosen = chance.choice([one for one in found if len(one) * 2 >= most])
    kept = sorted(_drop_answer(chosen), reverse=True, key=lambda word:
                  rarity.get(stem_text(word), 1.0))
    # Nor is the rarest word remembered by who asks.
    kept = kept[len(kept) > _KEPT:][:_KEPT]
    chance.shuffle(kept)
    for at, word in enumerate(kept):
        if (other := inflect(word, language)) != word:
            kept[at] = other
            break
    plain, spoken = _FRAMES.get(language, ("{words}?", "{who} {words}?"))
    who = label or (entry.sender if entry.sender != "assistant" else None)
    return (spoken if who and not who.isdigit() else plain).format(
        who=who, words=" ".join(kept))


def _ask_key(entry: MemoryEntry) -> str | None:
    """What a person called it, where that is in words."""
    if _NAMELESS.search(entry.key):
        return None
    topics = find_words(entry.key.replace("_", " "))
    return " ".join(topics) + "?" if topics else None


def _drop_answer(topics: list[str]) -> list[str]:
    """The words without what a question would ask for: the numbers, else
    the last."""
    left = [word for word in topics if not any(map(str.isdigit, word))]
    return left if left and len(left) < len(topics) else topics[:-1]


def find_words(sentence: str) -> list[str]:
    """The words that carry a topic, each once, as they are written (folded
    where they are no ASCII); of scripts without spaces pieces that may be
    words."""
    found: dict[str, None] = {}
    for word in _WORD.findall(sentence) if sentence.isascii() \
            else words(sentence):
        pieces = [word] if not is_spaceless(word) or "가" <= word[0] <= "힣" \
            else _cut(word)
        for piece in pieces:
            if len(piece) > 1 and piece.lower() not in WEAK_WORDS \
                    and query_terms(f"{_TOPIC} {piece}") != [_TOPIC]:
                found[piece] = None
    return list(found)


def _cut(run: str) -> list[str]:
    """Pieces of a run without spaces: Han between the words that only join,
    kana and others by script."""
    pieces: list[str] = []
    for part in _HAN_BREAKS.split(run):
        start = 0
        scripts = find_script(part)
        for end in range(1, len(part) + 1):
            if end < len(part) and scripts[end] == scripts[start]:
                continue
            script, piece = scripts[start], part[start:end]
            start = end
            if script == "h" or len(piece) < 2:
                continue
            size = _PIECE if script == "H" else _RUN
            pieces += [piece[at:at + size]
                       for at in range(0, len(piece), size)
                       if len(piece[at:at + size]) > 1]
    return pieces


def inflect(word: str, language: str) -> str:
    """Another form of a word, where its language has a rule here."""
    if language == "ko":
        bare = _KO_ENDINGS.sub("", word)
        return bare if len(bare) > 1 else word
    if language == "en" and word.islower() and word.isascii() \
            and not word.endswith(("ss", "thing")):
        for ending, other in (("ies", "y"), ("ing", ""), ("ing", "e"),
                              ("s", ""), ("ed", ""), ("ed", "e")):
            found = word.removesuffix(ending) + other
            # What has another stem is hardly a form of this word.
            if word.endswith(ending) and len(found) > 3 \
                    and stem_text(found) == stem_text(word):
                return found
    return word
