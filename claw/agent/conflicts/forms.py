"""Sentences that say one value of one thing, as a table of their forms.

A form is a whole sentence: (?P<what>) and its topic say of what, (?P<value>)
what; (?P<who>) is another than the one who speaks. Topics whose values are
yes and no take them from the form. English, German, Korean, Chinese and
Japanese; what no form fits is left to claims.py.
"""

import functools
import re
from typing import NamedTuple

YES, NO = "yes", "no"


class Form(NamedTuple):
    """`topic` is what all sentences of a kind are about; `answer` the value
    where the form says it; with `strict` a value must be a name, a number
    or a time: other words may hold side by side."""

    pattern: re.Pattern[str]
    topic: str
    answer: str | None = None
    strict: bool = False


_V = r"(?P<value>\S.{0,60}?)"
_O = r"(?P<what>\S.{1,40}?)"
_I = r"(?:(?P<who>i|my (?:\w+ )??\w+|(?!you\b|we\b|they\b|it\b|he\b|she\b" \
     r"|this\b|that\b|there\b|who\b|and\b|the\b|sounds\b|feels\b|looks\b" \
     r"|their\b|your\b|our\b|his\b|her\b|just\b|people\b)\w+)(?:'s|'m)?)"
_HOW = (r"(?: am| is| have| has| just| now| currently| really| still| also"
        r"| recently| actually| do| does| absolutely| always| usually)*")
_NOT = (r"(?: really| still| absolutely| just)*(?: do not| does not| don't"
        r"| doesn't| never| can not| can't| cannot| am not| is not| isn't"
        r"| no longer| stopped| quit| have never| has never| 'm not| not)"
        r"(?: really| even)*")
_ACT = (r"(?P<do>eat|drink|smoke|own|speak|drive|swim|play|wear|use|cook|run"
        r"|watch|read|take|trust|believe in|go to|work on|dance)(?:s|es|ing)?")
_LIKE = r"(?:like|likes|love|loves|enjoy|enjoys|adore|adores|like to|love to)"
_HATE = (r"(?:hate|hates|dislike|dislikes|detest|detests|can't stand"
         r"|can not stand|cannot stand)")
# Things of which a person has one at a time.
_OWN = (
    r"(?:(?:first |last |full |middle |maiden |user)?name|birthday|age|address"
    r"|(?:phone|telephone|mobile|room|flight|seat|gate|account|passport)"
    r"(?: number)?|e-?mail(?: address)?|(?:wifi |wi-fi )?password|pin|code"
    r"|job|profession|boss|manager|doctor|dentist|landlord|wife|husband"
    r"|spouse|partner|fiancee?|girlfriend|boyfriend|employer|hometown"
    r"|nationality|blood type|shoe size|size|height|weight|salary|rent"
    r"|budget|major|school|university|bank|insurance|car|time ?zone|deadline"
    r"|appointment|interview|wedding|surgery|anniversary|plan|licence plate"
    r"|native language|mother tongue|religion|favou?rite (?:\w+ ){0,2}?\w+)")

_Row = tuple[str, str, str | None, bool]
_LATIN: tuple[_Row, ...] = (
    # --- English
    ("live", rf"{_I}{_HOW} (?:live|lives|living|reside|resides)"
     rf"(?: \w+)? (?:in|at) {_V}", None, False),
    ("live", rf"{_I}{_HOW} (?:moved|relocated|moving) to {_V}", None, True),
    ("work", rf"{_I}{_HOW} (?:work|works|working) (?:at|for) {_V}", None,
     True),
    ("job", rf"{_I}{_HOW} (?:work|works|working) as (?:an? )?{_V}", None,
     False),
    ("from", rf"{_I}{_HOW} (?:from|come from|comes from) {_V}", None, True),
    ("old", rf"{_I}{_HOW} (?P<value>\d+)(?: years old| years of age)?", None,
     False),
    ("born", rf"{_I}{_HOW} (?:was )?born (?:in|on) {_V}", None, True),
    ("is", rf"(?P<who>my|\w+'s) (?P<what>(?:new |current )?{_OWN}) "
     rf"(?:is|are|was changed to|changed to)(?: now)? {_V}", None, False),
    ("is", rf"(?P<who>my|\w+'s) (?P<what>\w+(?: \w+)?(?:'s \w+)?) "
     rf"(?:is|are)(?: now| on| at| in)* {_V}", None, True),
    ("is", rf"(?P<what>(?:the|our) \w+(?: \w+){{0,3}}?) "
     rf"(?:is|starts|begins|takes place|(?P<do>opens|closes|costs|takes|ends"
     rf"|departs|leaves|weighs))(?: now| on| at| in)* {_V}", None, True),
    ("has", rf"{_I}{_HOW} (?:has|have|weigh|weighs) (?P<value>\d+|one|two"
     r"|three|four|five|six|seven|eight|nine|ten|no) (?P<what>\w+(?: \w+)?)",
     None, False),
    ("like", rf"{_I}{_HOW} {_LIKE} {_O}", YES, False),
    ("like", rf"{_I}{_NOT} {_LIKE} {_O}(?: any ?more)?", NO, False),
    ("like", rf"{_I}{_HOW} {_HATE} {_O}", NO, False),
    ("do", rf"{_I}{_HOW} {_ACT}(?: (?P<what>\S.{{1,40}}?))?", YES, False),
    ("do", rf"{_I}{_NOT} {_ACT}(?: (?!any ?more)(?P<what>\S.{{1,40}}?))?(?: any ?more)?",
     NO, False),
    ("allergic", rf"{_I}{_HOW} allergic to {_O}", YES, False),
    ("allergic", rf"{_I}{_NOT} allergic to {_O}", NO, False),
    ("be", rf"{_I}(?: am| is)?(?: an?)? (?P<what>vegan|vegetarian|married"
     r"|single|retired|pregnant|smoker|engaged|divorced|unemployed)", YES,
     False),
    ("be", rf"{_I}(?: am not| is not| isn't| not|'m not)(?: an?)?(?: a)? "
     r"(?P<what>vegan|vegetarian|married|single|retired|pregnant|smoker"
     r"|engaged|divorced|unemployed)(?: any ?more)?", NO, False),
    ("have", rf"{_I}(?: have| has)(?: got)? (?:an? )(?P<what>\w+)", YES,
     False),
    ("have", rf"{_I}(?: do not have| does not have| don't have| doesn't have"
     r"| have no| has no| never had)(?: an?| any)? (?P<what>\w+)", NO, False),
    # --- German
    ("live", rf"(?P<who>ich|mein\w* \w+|\w+) (?:wohne|wohnt|lebe|lebt)"
     rf"(?: jetzt| nun| seit \w+)? (?:in|im|am|auf) {_V}", None, False),
    ("live", r"(?P<who>ich|mein\w* \w+|\w+) (?:bin|ist)(?: jetzt| gerade"
     rf"| vor kurzem)? nach {_V} (?:gezogen|umgezogen)", None, False),
    ("live", rf"(?P<who>ich|mein\w* \w+|\w+) (?:ziehe|zieht) nach {_V}"
     "(?: um)?", None, False),
    ("work", r"(?P<who>ich|mein\w* \w+|\w+) (?:arbeite|arbeitet)(?: jetzt)? "
     rf"(?:bei|für) {_V}", None, False),
    ("old", r"(?P<who>ich|mein\w* \w+|\w+) (?:bin|ist)(?: jetzt)? "
     r"(?P<value>\d+)(?: jahre alt)?", None, False),
    ("is", r"(?P<who>mein\w*) (?P<what>(?:neue\w? )?(?:name|vorname|nachname"
     r"|geburtstag|adresse|telefonnummer|handynummer|nummer|passwort"
     r"|wlan-passwort|pin|beruf|chef\w*|arzt|ärztin|hausarzt|zahnarzt|auto"
     r"|miete|gehalt|größe|gewicht|schuhgröße|termin|zimmernummer|konto"
     r"|lieblings\w+)) (?:ist|lautet|heißt|beträgt)(?: jetzt)?"
     rf"(?: am| um| auf)? {_V}", None, False),
    ("is", r"(?P<who>mein\w*) (?P<what>\w+) (?:ist|lautet|heißt|beträgt)"
     rf"(?: jetzt| am| um| auf)* {_V}", None, True),
    ("is", r"(?P<what>(?:der|die|das|unser\w*) \w+(?: \w+)?) (?:ist|beginnt"
     rf"|(?P<do>kostet|öffnet|schließt|endet|dauert))(?: jetzt| am| um| auf)* {_V}",
     None, True),
    ("like", r"(?P<who>ich|mein\w* \w+|\w+) (?:mag|liebe|liebt)"
     rf"(?: sehr| gern)* (?!kein|nicht){_O}", YES, False),
    ("like", r"(?P<who>ich|mein\w* \w+|\w+) (?:mag|liebe|liebt) (?:keine?n?"
     rf"|nicht) {_O}", NO, False),
    ("like", r"(?P<who>ich|mein\w* \w+|\w+) (?:mag|liebe|liebt) "
     r"(?!kein)(?P<what>\S.{1,40}?) (?:gar |überhaupt )?nicht", NO, False),
    ("like", rf"(?P<who>ich|mein\w* \w+|\w+) (?:hasse|hasst) {_O}", NO,
     False),
    ("do", r"(?P<who>ich|mein\w* \w+|\w+) (?P<do>trinke?|esse|isst|rauche?"
     r"|spreche|spricht|fahre|fährt)t?(?: gern| viel| jeden tag| oft)*"
     r"(?: (?!kein|nicht|nie)(?P<what>\S.{1,30}?))?", YES, False),
    ("do", r"(?P<who>ich|mein\w* \w+|\w+) (?P<do>trinke?|esse|isst|rauche?"
     r"|spreche|spricht|fahre|fährt)t? (?:keine?n?|nicht|nie|niemals)"
     r"(?: mehr)?(?: (?!mehr)(?P<what>\S.{1,30}?))?(?: mehr)?", NO, False),
)
_KOREAN: tuple[_Row, ...] = (
    ("live", r"(?:(?P<who>나는|저는|난|전|\S+[은는이가]) )?(?:지금 |현재 )?"
     r"(?P<value>\S+(?: \S+)?)에(?:서)? (?:살|거주)\S*(?: 있\S*)?", None,
     False),
    ("live", r"(?:(?P<who>나는|저는|난|전|\S+[은는이가]) )?(?P<value>\S+?)"
     r"(?:으로|로) 이사\S*(?: \S+)?", None, False),
    ("work", r"(?:(?P<who>나는|저는|난|전|\S+[은는이가]) )?(?P<value>\S+)에"
     r"(?:서)? (?:일하|일해|다니|다녀|근무)\S*(?: 있\S*)?", None, False),
    ("is", r"(?:(?P<who>내|제|나의|저의) )(?P<what>\S+(?: \S+)?)[은는이가] "
     r"(?P<value>\S+(?: \S+)?)", None, False),
    ("like", r"(?:(?P<who>나는|저는|난|전|\S+[은는]) )?(?P<what>\S+?)[을를이가] "
     r"(?:아주 |정말 |제일 )?좋아(?:한다|해요?|합니다|함)", YES, False),
    ("like", r"(?:(?P<who>나는|저는|난|전|\S+[은는]) )?(?P<what>\S+?)[을를이가] "
     r"(?:안 좋아\S*|좋아하지 않\S*|싫어\S*|싫다|별로\S*(?: \S+)?)", NO,
     False),
    ("do", r"(?:(?P<who>나는|저는|난|전|\S+[은는]) )?(?P<what>\S+?)[을를] "
     r"(?:매일 |자주 )?(?P<do>먹|마시|마셔|피우|피워|타)(?:는다|ㄴ다|어요?"
     r"|다|습니다|ᆸ니다|ㅂ니다|요|니다|신다|)", YES, False),
    ("do", r"(?:(?P<who>나는|저는|난|전|\S+[은는]) )?(?P<what>\S+?)[을를은는] "
     r"(?:(?:안|못|전혀 안) (?P<do>먹|마시|마셔|피우|피워|타)\S*|(?P<do_>먹"
     r"|마시|피우|타)지 (?:않|못)\S*)", NO, False),
)
_CHINESE: tuple[_Row, ...] = (
    ("live", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:现在|現在|目前)?(?:住在|住到了)"
     r"(?P<value>\S{2,12}?)了?", None, False),
    ("live", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:已经|已經|刚|剛)?(?:搬到了?|搬去了?)"
     r"(?P<value>\S{2,12}?)了?", None, False),
    ("work", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:现在|現在)?在(?P<value>\S{2,12}?)"
     r"(?:工作|上班)", None, False),
    ("old", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:今年)?(?P<value>\d+)[岁歲]了?",
     None, False),
    ("is", r"(?P<who>我)的?(?P<what>[^是叫的不]{1,8}?)(?:现在|現在)?(?:是|叫|为|為)"
     r"(?P<value>\S{1,16})", None, False),
    ("is", r"(?P<what>[^是在我的不]{2,8})(?:是|在|改到|定在)(?P<value>[^不]{0,12}"
     r"[\d一二三四五六七八九十日天]+\S{0,4})", None, True),
    ("like", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:一点也|一點也|很)?(?:不喜欢|不喜歡|不爱"
     r"|不愛|讨厌|討厭)(?P<what>\S{1,10})", NO, False),
    ("like", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:很|非常|最|特别)?(?:喜欢|喜歡|爱|愛)"
     r"(?P<what>\S{1,10})", YES, False),
    ("do", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:从来|從來|从|從)?(?:不|没|沒|不再)"
     r"(?P<do>吃|喝|抽|养|養|有|会|會)(?P<what>[^了过過]{1,8})了?", NO, False),
    ("do", r"(?P<who>我|我\S{1,3}|\S{2,3}?)(?:每天|经常|經常|常)?(?P<do>吃|喝|抽|养|養"
     r"|有|会|會)(?P<what>[^了过過]{1,8})", YES, False),
)
_JAPANESE: tuple[_Row, ...] = (
    ("live", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?:今|現在|いま)?(?P<value>\S{2,10}?)に"
     r"(?:住んで\S{1,6}|引っ越\S{1,6}|引越\S{1,6})", None, False),
    ("work", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?P<value>\S{2,14}?)(?:で働いて|に勤めて)"
     r"\S{1,6}", None, False),
    ("is", r"(?P<who>私|僕|俺)の(?P<what>\S{1,10}?)は(?P<value>\S{1,16}?)"
     r"(?:です|だ|である|でした)?", None, False),
    ("is", r"(?P<what>[^は私僕俺]{2,10})は(?P<value>\S{0,10}\d\S{0,6}?)(?:です|だ"
     r"|である|になりました|に変更)?", None, True),
    ("like", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?P<what>\S{1,10}?)が(?:とても|大)?"
     r"好き(?:です|だ|なんです)?", YES, False),
    ("like", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?P<what>\S{1,10}?)[がは](?:好き(?:では"
     r"|じゃ)\S{2,6}|嫌い\S{0,3}|苦手\S{0,3})", NO, False),
    ("do", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?P<what>\S{1,10}?)を(?:毎日|よく)?"
     r"(?P<do>飲|食べ|吸|飼)(?:む|みます|る|ます|う|います|っている|っています)", YES,
     False),
    ("do", r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?(?P<what>\S{1,10}?)[をは](?:全然|もう)?"
     r"(?P<do>飲|食べ|吸|飼)(?:まない|みません|ない|ません|わない|いません|っていない"
     r"|っていません)", NO, False),
)


@functools.cache
def load_forms(script: str) -> list[Form]:
    """The forms of "latin", "ko", "zh" or "ja"; the first that fits a
    sentence counts. Compiling all takes 40 ms."""
    rows = {"latin": _LATIN, "ko": _KOREAN, "zh": _CHINESE,
            "ja": _JAPANESE}.get(script, ())
    return [Form(re.compile(pattern, re.IGNORECASE), topic, answer, strict)
            for topic, pattern, answer, strict in rows]
