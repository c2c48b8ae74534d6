"""Japanese sentences that say one value of one thing."""

from claw.agent.memory.conflicts.forms.form import NO, YES, Row

_WHO = r"(?:(?P<who>私|僕|俺|\S{1,6}?)は)?"
_O = r"(?P<what>\S{1,10}?)"
_VERB = "(?P<do>飲|食べ|吸|飼)"

ROWS: tuple[Row, ...] = (
    ("live", _WHO + r"(?:今|現在|いま)?(?P<value>\S{2,10}?)に"
     r"(?:住んで\S{1,6}|引っ越\S{1,6}|引越\S{1,6})", None, False),
    ("work", _WHO + r"(?P<value>\S{2,14}?)(?:で働いて|に勤めて)\S{1,6}",
     None, False),
    ("is", r"(?P<who>私|僕|俺)の(?P<what>\S{1,10}?)は(?P<value>\S{1,16}?)"
     r"(?:です|だ|である|でした)?", None, False),
    ("is", r"(?P<what>[^は私僕俺]{2,10})は(?P<value>\S{0,3}\d\S{0,6}?)"
     r"(?:です|だ|である|になりました|に変更)?", None, True),
    ("like", _WHO + _O + "が(?:とても|大)?好き(?:です|だ|なんです)?", YES,
     False),
    ("like", _WHO + _O + r"[がは](?:好き(?:では|じゃ)\S{2,6}|嫌い\S{0,3}"
     r"|苦手\S{0,3})", NO, False),
    ("do", _WHO + _O + "を(?:毎日|よく)?" + _VERB
     + "(?:む|みます|る|ます|う|います|っている|っています)", YES, False),
    ("do", _WHO + _O + "[をは](?:全然|もう)?" + _VERB
     + "(?:まない|みません|ない|ません|わない|いません|っていない"
     "|っていません)", NO, False),
)
