"""Whether an answer claims what no call did."""

import re
from collections.abc import Collection, Iterable
from functools import cache
from typing import NamedTuple

from claw.agent.receipt.eastern import CHINESE, JAPANESE, KOREAN
from claw.agent.receipt.language import (
    COMMAND,
    FILE,
    MEMORY,
    SCHEDULE,
    SEND,
    Language,
)
from claw.agent.receipt.western import (
    ENGLISH,
    FRENCH,
    GERMAN,
    RUSSIAN,
    SPANISH,
)

LANGUAGES = (ENGLISH, GERMAN, SPANISH, FRENCH, RUSSIAN, CHINESE, JAPANESE,
             KOREAN)
_MOST_CHARS = 20_000  # of an answer that are looked at
_LONGEST = 600  # sentence: what is longer is none
# A word between a noun and its participle, which is no verb: "@".
_WORD = (r" (?!(?:is|are|was|were|will|can|gets?|that|which|you|I|wird|werden|"
         r"kann|soll|muss|hat|haben|du|es|son|está|están|se puede|que|est|sont"
         r"|sera|qui|будет|что)\b)\S+")

_DOES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("file_write", "file_edit", "apply_patch", "backup",
                     "screenshot"), (FILE,)),
    **dict.fromkeys(("message", "send", "pushover", "http_request",
                     "sessions_send", "reaction", "poll"), (SEND,)),
    **dict.fromkeys(("memory_store", "memory_forget", "memory_purge"),
                    (MEMORY,)),
    **dict.fromkeys(("cron_add", "cron_update", "cron_remove", "schedule"),
                    (SCHEDULE,)),
    **dict.fromkeys(("git_operations", "cron_run"), (FILE, SEND, COMMAND)),
    **dict.fromkeys((
        "file_read", "memory_recall", "web_search_tool", "web_fetch",
        "calculator", "glob_search", "content_search", "image_info",
        "weather", "pdf_read", "tool_search", "sessions_list",
        "sessions_history", "cron_list", "cron_runs", "read_skill",
        "ask_user", "model_switch"), ()),
}
_EVERY = (FILE, SEND, MEMORY, SCHEDULE, COMMAND)
# Of the commands of a shell: those that only look, and those that send.
_LOOKS = re.compile(
    r"\s*(?:ls|cat|grep|rg|find|echo|pwd|wc|head|tail|date|df|du|uname|free|"
    r"uptime|hostname|file|tree|jq|stat|which|sort|whoami|id|nl|diff|cmp)\b")
_SENDS = re.compile(
    r"\b(?:mailx?|mutt|msmtp|sendmail|curl|wget|scp|rsync|ssh|claw|python3?"
    r"|node|git)\b|\bsend|mail")


class Call(NamedTuple):
    """A call that was made: the tool, and the command of a shell."""

    tool: str
    command: str = ""


_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)",
                     re.DOTALL | re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[^\S\n]*>.*$", re.MULTILINE)
_INLINE = re.compile(r"(`+)(.+?)\1")
_QUOTES = re.compile(r"[\"“„”]([^\"“„”\n]{1,400})[\"“”]|«([^»\n]{1,400})»"
                     r"|「([^」\n]{1,400})」|『([^』\n]{1,400})』"
                     r"|(?<!\w)[‘‚']([^'’‘\n]{1,400})['’‘](?!\w)")
_URL = re.compile(r"https?://\S+")
_FILE_NAME = re.compile(
    r"(?<![\w~./-])[\w~./-]*[\w-]\.(?:[a-z][a-z0-9]{0,4}|[A-Z]{2,4})(?![\w])",
    re.ASCII)
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+|[*_#✅☑✔️]+")
_QUESTION = re.compile(r"[?？]\s*$")
# What follows such a line is a text that was asked for, or said in a role.
_WORK = re.compile(
    r"^[^\n]{0,200}(?:\b(?:drafts?|poems?|stor(?:y|ies)|letters?|songs?|"
    r"scenes?|dialogue|monologue|template|example|translation|(?:e-?)?mail|version|"
    r"entwurf|gedicht|geschichte|brief|lied|szene|dialog|vorlage|beispiel|"
    r"übersetzung|nachricht|borrador|poema|cuento|historia|carta|canción|"
    r"escena|diálogo|plantilla|ejemplo|traducción|correo|mensaje|brouillon|"
    r"poème|histoire|conte|lettre|chanson|scène|modèle|exemple|traduction|"
    r"courriel|message|черновик|стих\w*|рассказ\w*|письм\w+|песн\w+|"
    r"сцен\w+|диалог|шаблон|пример\w*|перевод)\b|[草初]稿|[诗詩]|故事|书|"
    r"信件|封信|邮件|翻[译訳]|例|模板|対話|对话|下書き|物語|手紙|メール|문안|초안|"
    r"시를|이야기|편지|메일|번역|예시)[^\n]{0,200}[:：]\s*\n[\s\S]*",
    re.IGNORECASE | re.MULTILINE)
_ROLE = re.compile(
    r"(?:^|[.!]\s+)(?:(?:as (?:an? |the |(?-i:[A-Z]))|als (?:ein\w* )?"
    r"(?-i:[A-ZÄÖÜ])|comme une? |como una? |en tant que |в роли |от лица )"
    r"[^:.!?\n]{1,40}|(?:como (?!\w+(?:d[oa]s?|ó|ste|amos|pre)\b)|как (?!\w+"
    r"(?:но|л[аи]?|сь|да)\b))\w+|"
    r"[^:：.。!?\n]{0,20}(?:口吻|口調で|風に|말투로))\s?[:：][\s\S]*",
    re.IGNORECASE | re.MULTILINE)
_ABOUT = re.compile(
    r"\b(?:of|about|regarding|for|that \w+s|mit|über|zu|zum|zur|für|sobre|sur|"
    r"о|об)(?: \w+){0,2} $", re.IGNORECASE)
# What is told of a day, or of somebody, is told of the past. An appointment
# has a day.
_DATED = re.compile(
    r"\b(?:(?:19|20)\d\d|montag|dienstag|mittwoch|donnerstag|freitag|samstag|"
    r"sonntag|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lundi|mardi"
    r"|mercredi|jeudi|vendredi|samedi|dimanche|понедельник|вторник|сред[уы]|"
    r"четверг|пятниц[уы]|суббот[уы]|воскресенье|"
    r"\d{1,2}(?:\.|st|nd|rd|th)?(?: de)? (?:jan|feb|fév|fev|ene|mar|mär|apr|"
    r"abr|avr|ma[iyg]|jun|jui|jul|aug|aoû|ago|sep|o[ck]t|no[vw]|de[cz]|dic|déc|"
    r"янв|фев|мар|апр|ма[йя]|июн|июл|авг|сен|окт|ноя|дек)\w*)\b|"
    r"\d月 ?\d{1,2}[日号]|\d월 ?\d{1,2}일",
    re.IGNORECASE)
_FINITE_AFTER = re.compile(
    r"\s+(?:\S+\s+){0,5}?(?:is|are|was|were|will|can|should|must|may|ist|"
    r"sind|wird|werden|kann|können|son|es|está|están|est|sont|sera|peut)\b",
    re.IGNORECASE)


def is_unsupported(text: str, calls: Iterable[Call],
                   reading: Collection[str] = (), *,
                   keeps_all: bool = False) -> bool:
    """Whether a sentence claims an act which none of the calls did.

    `calls` went well, or are told of otherwise; `reading` are further tools
    that only read. With `keeps_all` what is said is remembered anyway.
    """
    done = {kind for call in calls for kind in _list_done(call, reading)}
    if keeps_all:
        done.add(MEMORY)
    if done.issuperset(_EVERY):
        return False
    text = text[:_MOST_CHARS]
    languages = [one for one in LANGUAGES
                 if _compile(one.script).search(text)]
    for sentence in _list_sentences(text):
        kinds = [kinds for language in languages
                 for kinds in _list_claims(sentence, language)]
        # What could be two things is one that was done.
        if kinds and not any(done.intersection(one) for one in kinds):
            return True
    return False


def _list_done(call: Call, reading: Collection[str]) -> tuple[str, ...]:
    """What a call may have done; of a tool that is not ours: anything."""
    if call.tool == "shell":
        parts = re.split(r"&&|\|\||[;|]", call.command)
        if call.command and all(map(_LOOKS.match, parts)):
            return (COMMAND,)
        sends = not call.command or _SENDS.search(call.command)
        return (FILE, COMMAND, SCHEDULE, *((SEND,) if sends else ()))
    if call.tool in _DOES:
        return _DOES[call.tool]
    return () if call.tool in reading else _EVERY


def _list_sentences(text: str) -> list[str]:
    """The sentences in which the answer speaks for itself."""
    text = _QUOTED_LINE.sub("", _FENCED.sub("\n", text))
    text = _ROLE.sub("", _WORK.sub(lambda found: found[0].split("\n")[0],
                                   text))
    text = _INLINE.sub(lambda found: _name(found[2], "CODE"), text)
    text = _QUOTES.sub(lambda found: _name(
        next(filter(None, found.groups())), "QUOTE"), _URL.sub("URL", text))
    text = _FILE_NAME.sub("FILE", text)
    return [bare for part in _SENTENCE.split(text)
            if (bare := _LIST_MARK.sub("", part).strip())
            and len(bare) <= _LONGEST and not _QUESTION.search(bare)]


def _name(quoted: str, other: str) -> str:
    return "FILE" if _FILE_NAME.fullmatch(quoted.strip()) else other


def _list_claims(sentence: str, language: Language
                 ) -> Iterable[tuple[str, ...]]:
    """The kinds of act that a sentence claims in a language."""
    if _compile(language.never).search(sentence):
        return
    before = _compile(language.before)
    for kinds, verb, object_ in language.acts:
        found = _compile(language.first + verb).search(sentence)
        if found and not before.search(sentence[:found.start()]) \
                and "QUOTE" not in sentence[:found.start()] \
                and _has_object(sentence, object_):
            yield tuple(kinds.split())
    for kinds, opening in language.bare:
        found = _compile(opening).match(sentence)
        if found and not _FINITE_AFTER.match(sentence, found.end()) \
                and (kinds == SCHEDULE or not _DATED.search(sentence)):
            yield tuple(kinds.split())


def _has_object(sentence: str, object_: str) -> bool:
    """Whether one is what it was done to, not what that is about."""
    return not object_ or any(
        not _ABOUT.search(sentence[:found.start()])
        for found in _compile(object_).finditer(sentence))


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """English "I" is a capital; the rest does not care. @ is a word."""
    pattern = pattern.replace("@", _WORD)
    return re.compile(pattern, 0 if pattern.startswith(r"\bI(") else
                      re.IGNORECASE)
