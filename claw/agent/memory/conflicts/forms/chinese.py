"""Chinese sentences that say one value of one thing."""

from claw.agent.memory.conflicts.forms.form import NO, YES, Row

_WHO = r"(?P<who>我|我\S{1,3}|\S{2,3}?)"
_NOW = "(?:现在|現在|目前)?"
_VERB = "(?P<do>吃|喝|抽|养|養|有|会|會)"

# "no" stands before "yes", which would take 我不 for a name.
ROWS: tuple[Row, ...] = (
    ("live", _WHO + _NOW + r"(?:住在|住到了)(?P<value>\S{2,12}?)了?", None,
     False),
    ("live", _WHO + r"(?:已经|已經|刚|剛)?(?:搬到了?|搬去了?)"
     r"(?P<value>\S{2,12}?)了?", None, False),
    ("work", _WHO + _NOW + r"在(?P<value>\S{2,12}?)(?:工作|上班)", None,
     False),
    ("old", r"(?P<who>我|我\S{1,3})(?:今年)?(?P<value>\d+)[岁歲]了?", None,
     False),
    ("is", "(?P<who>我)的?(?P<what>[^是叫的不]{1,8}?)" + _NOW
     + r"(?:是|叫|为|為)(?P<value>\S{1,16})", None, False),
    ("is", r"(?P<what>[^是在我的不]{2,8})(?:是|在|改到|定在)"
     r"(?P<value>[^不]{0,4}[\d一二三四五六七八九十日天]+\S{0,2})", None,
     True),
    ("like", _WHO + "(?:一点也|一點也|很)?"
     r"(?:不喜欢|不喜歡|不爱|不愛|讨厌|討厭)(?P<what>\S{1,10})", NO, False),
    ("like", _WHO + "(?:很|非常|最|特别)?"
     r"(?:喜欢|喜歡|爱|愛)(?P<what>\S{1,10})", YES, False),
    ("do", _WHO + "(?:从来|從來|从|從)?(?:不|没|沒|不再)" + _VERB
     + "(?P<what>[^了过過]{1,8})了?", NO, False),
    ("do", _WHO + "(?:每天|经常|經常|常)?" + _VERB
     + "(?P<what>[^了过過]{1,8})", YES, False),
)
