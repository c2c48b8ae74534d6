"""Korean sentences that say one value of one thing."""

from claw.agent.memory.conflicts.forms.form import NO, YES, Row

_WHO = r"(?:(?P<who>나는|저는|난|전|\S+[은는이가]) )?"
_I = r"(?:(?P<who>나는|저는|난|전|\S+[은는]) )?"
_O = r"(?P<what>\S+?)"

ROWS: tuple[Row, ...] = (
    ("live", _WHO + r"(?:지금 |현재 )?(?P<value>\S+(?: \S+)?)에(?:서)? "
     r"(?:살|거주)\S*(?: 있\S*)?", None, False),
    ("live", _WHO + r"(?P<value>\S+?)(?:으로|로) 이사\S*(?: \S+)?", None,
     False),
    ("work", _WHO + r"(?P<value>\S+)에(?:서)? "
     r"(?:일하|일해|다니|다녀|근무)\S*(?: 있\S*)?", None, False),
    ("is", r"(?:(?P<who>내|제|나의|저의) )(?P<what>\S+(?: \S+)?)[은는이가] "
     r"(?P<value>\S+(?: \S+)?)", None, False),
    ("like", _I + _O + "[을를이가] (?:아주 |정말 |제일 )?"
     "좋아(?:한다|해요?|합니다|함)", YES, False),
    ("like", _I + _O + r"[을를이가] (?:안 좋아\S*|좋아하지 않\S*|싫어\S*"
     r"|싫다|별로\S*(?: \S+)?)", NO, False),
    ("do", _I + _O + "[을를] (?:매일 |자주 )?(?P<do>먹|마시|마셔|피우|피워|타)"
     "(?:는다|ㄴ다|어요?|다|습니다|ᆸ니다|ㅂ니다|요|니다|신다|)", YES,
     False),
    ("do", _I + _O + r"[을를은는] (?:(?:안|못|전혀 안) "
     r"(?P<do>먹|마시|마셔|피우|피워|타)\S*"
     r"|(?P<do_>먹|마시|피우|타)지 (?:않|못)\S*)", NO, False),
)
