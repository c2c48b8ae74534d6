"""Whether a new fact takes the place of an old one.

That two facts are alike does not tell: "the sister lives in Lisbon" and
"the brother lives in Lisbon" differ in one word, as "my favourite colour is
green" and "... blue" do, and so do two allergies, two cats, a town and its
country. A fact is superseded only where two values exclude each other by
the form of the sentence:

- one says no to what the other says, in the same words;
- the person's own favourite of a kind, or name;
- the day or the hour of one event to come, the birthday, the age, where
  both values have one form (a weekday and a weekday, a date and a date);
- a number right after "is", "has", "weighs" or "takes";

in English, Chinese and Korean. What the two are about must be alike to
`threshold`, the share of their words in common. All else stays side by
side, for the reader to judge by the times.
"""

import re
from typing import NamedTuple

from claw.text.segment import stem_text, words

LEAST = 0.6      # however low the threshold is set
MAX_CHARS = 200  # a longer fact says more than one thing
MAX_ABOUT = 6    # words: of more, one that differs would not be noticed

_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = ("(?:january|february|march|april|may|june|july|august|september|"
          "october|november|december)")
_EVENT = "(?:appointment|interview|wedding|surgery|operation|deadline)"
_STEP = ("(?:moves?|moving|marry|marries|marrying|retires?|retiring|"
         "graduates?|graduating)")
_ZH_STEP = "(?:搬家|结婚|結婚|退休|毕业|畢業|出院)"
_ZH_DAY = (r"(?:下?[个個]?(?:周|週|星期|礼拜|禮拜)[一二三四五六日天]"
           r"|\d+月\d+[日号號])")
_KO_STEP = "(?:이사|결혼|은퇴|졸업|퇴원)(?![가-힣]*[했갔었았])[가-힣]*"
_KO_DAY = r"(?:다음 주 )?(?:[월화수목금토일]요일|\d+월 \d+일)"

# Whole sentences without whom they are about: what (?P<about>) and
# (?P<more>) say has one (?P<value>) at a time.
_FREE = (
    r"(?:the )?favourite (?P<about>\S+(?: \S+){0,2}?) is (?:now )?"
    r"(?:(?:the|an?) )?(?P<value>\S+(?: \S+){0,3})",
    r"(?P<about>(?:first |last |full )?name) is (?:now )?"
    r"(?P<value>\S+(?: \S+){0,2})",
    "最(?:喜欢|喜歡|爱|愛)的?(?P<about>[^是]{1,4})[是为為](?P<value>.{1,6})",
    "(?P<about>名字|姓名)[是叫为為](?P<value>.{1,8})",
    r"(?:가장|제일) 좋아하는 (?P<about>(?:\S+ )?\S+)[은는이가] (?P<value>\S+)",
    r"(?P<about>이름)은 (?P<value>\S+)")
_DATED = (
    rf"(?:the )?(?P<about>birthday|age|(?:\S+ ){{0,2}}{_EVENT}) is (?:now )?"
    r"(?:on |at |in )?(?:the )?(?P<value>.+)",
    rf"(?:will |is )?(?P<about>{_STEP}(?: house| (?:in)?to(?: \S+){{1,3}}?)?)"
    r" (?:on|in|at) (?:the )?(?P<value>.+)",
    r"(?P<about>is|has|weighs?|takes?) (?P<value>\d+(?: \d+)?) (?P<more>.+)",
    "(?P<about>生日)[是在](?P<value>.+)",
    r"(?:今年)?(?P<value>\d+)(?P<about>[岁歲])了?",
    rf"[将將会會要]?[在于於]?(?P<value>{_ZH_DAY})[将將会會要]?"
    rf"(?P<about>{_ZH_STEP})",
    "(?P<about>생일)은 (?P<value>.+)",
    r"(?:나이는 )?(?P<value>\d+)(?P<about>[살세])\S*",
    rf"(?P<value>{_KO_DAY})에 (?P<about>{_KO_STEP})")
_RULES = tuple((re.compile(rule), rules is _DATED)
               for rules in (_FREE, _DATED) for rule in rules)

_who = re.compile(
    "(?:the )?(?:user|owner)(?: s)? |(?:my|i) |(?:用户|用戶|使用者|我)的?"
    "|사용자[는가의은이]? |[저나]는 |[제내] ")
_SPELT = {"favorite": "favourite", "color": "colour", "am": "is",
          "have": "has"}
_whole = tuple((re.compile(short, re.IGNORECASE), whole) for short, whole in (
    (r"n['’]t\b", " not"), (r"\bcannot\b", "can not"), (r"['’]m\b", " is"),
    (r":\s+", " is "), ("：", "是")))
_han = re.compile("[\u3400-\u9fff]")
_hangul = re.compile("[가-힣]")

# A list or a second sentence is not one value of one thing.
_parts = re.compile(r"[,;!?、，；。]|\.(?!\d)")
_end = re.compile(r"[\s.!。]+\Z")
# Words that speak of somebody else, or may have a second value.
_OPEN_WORDS = """and or but if when for in on at while because since not also
too with except sometimes usually of besides one s from her his their its our
your"""
_OPEN = frozenset(_OPEN_WORDS.split())
_KO_OPEN = re.compile("(?:와|과|하고|랑|도)\\Z")
_KO_END = re.compile("(?:이다|입니다|이에요|예요|이야|다|임)\\Z")

_forms = tuple((re.compile(found), form) for found, form in (
    (rf"\b{_WEEKDAY}\b", "weekday"), (rf"\b{_MONTH}\b", "month"),
    ("(?<=[周週期拜])[一二三四五六日天]", "0"),
    ("[월화수목금토일](?=요일)", "0"), (r"\d+", "0")))

_NO = frozenset(("no", "not", "never"))
_AROUND_NO_WORDS = "do does ca can wo any longer anymore a an the"
_AROUND_NO = frozenset(_AROUND_NO_WORDS.split())
_zh_no = re.compile("不再|[不没沒未]")


class _Claim(NamedTuple):
    """What a fact says of what. `form` is the value's, where that counts."""

    rule: int
    about: frozenset[str]
    value: str
    form: str | None


def replaces(new: str, old: str, threshold: float) -> bool:
    """Whether two facts of one person can't hold at the same time; the
    newer one holds then. A threshold above 1 lets none be replaced."""
    if threshold > 1 or max(len(new), len(old)) > MAX_CHARS:
        return False
    one, other = _simplify(new), _simplify(old)
    if _contradict(one, other):
        return True
    claim, held = _read_claim(one, new), _read_claim(other, old)
    if claim is None or held is None or not (
            (claim.rule, claim.form) == (held.rule, held.form)
            and _exclude(claim, held)):
        return False
    share = len(claim.about & held.about) / max(len(claim.about),
                                                len(held.about))
    return share >= max(threshold, LEAST)


def _simplify(text: str) -> str:
    """Folded words without whom they are about; Chinese in one piece."""
    for short, whole in _whole:
        text = short.sub(whole, text)
    joint = "" if _han.search(text) and not _hangul.search(text) else " "
    plain = joint.join(_SPELT.get(word, word) for word in words(text))
    who = _who.match(plain)
    return plain[who.end():] if who else plain


def _read_claim(plain: str, text: str) -> _Claim | None:
    if _parts.search(_end.sub("", text)):
        return None
    for number, (rule, dated) in enumerate(_RULES):
        if found := rule.fullmatch(plain):
            return _check_claim(number, found.groupdict(), dated=dated)
    return None


def _check_claim(rule: int, said: dict[str, str], *, dated: bool
             ) -> _Claim | None:
    """The claim of a sentence, where there can be one value only."""
    value = said.pop("value").removesuffix(" now").removesuffix(" currently")
    about = " ".join(said.values())
    form = _find_form(value) if dated else None
    open_ended = _OPEN.intersection(about.split()) if dated else (
        _OPEN.intersection(f"{about} {value}".split())
        or _KO_OPEN.search(value))
    subject = frozenset(stem_text(about).split())
    if open_ended or form == value or not subject \
            or len(about.split()) > MAX_ABOUT:
        return None
    return _Claim(rule, subject, value, form)


def _find_form(value: str) -> str:
    """A day, date or number, but for which one it is."""
    for found, form in _forms:
        value = found.sub(form, value)
    return value


def _exclude(claim: _Claim, held: _Claim) -> bool:
    """Whether the values are two: "dark green" may be the same green."""
    one, other = claim.value, held.value
    if claim.form is not None:
        return one != other
    if _hangul.search(one) or _han.search(one):
        one, other = _KO_END.sub("", one), _KO_END.sub("", other)
        return one not in other and other not in one
    return set(stem_text(one).split()).isdisjoint(stem_text(other).split())


def _contradict(one: str, other: str) -> bool:
    """Whether one says no to what the other says, in the same words."""
    if _hangul.search(one):
        said, denied = one.split(), other.split()
        return _denies_korean(said, denied) or _denies_korean(denied, said)
    if _han.search(one):
        return one != other and (_zh_no.sub("", one, count=1) == other
                                 or _zh_no.sub("", other, count=1) == one)
    if _NO.isdisjoint(one.split()) == _NO.isdisjoint(other.split()):
        return False
    rest = _drop_no(one)
    return bool(rest) and rest == _drop_no(other)


def _drop_no(text: str) -> str:
    return stem_text(" ".join(word for word in text.split() if
                               word not in _NO and word not in _AROUND_NO))


def _denies_korean(one: list[str], other: list[str]) -> bool:
    """Whether `one` denies `other`: 안 먹는다, 먹지 않는다, 없다."""
    if not one or not other:
        return False
    if one != other == [word for word in one if word not in ("안", "못")]:
        return True
    if one[-1].startswith(("않", "못")) and len(one) > 1:
        return (one[:-2] == other[:-1] and one[-2].endswith("지")
                and other[-1].startswith(one[-2][:-1]))
    return (one[:-1] == other[:-1] and one[-1].startswith("없")
            and other[-1].startswith("있"))
