"""English sentences that say one value of one thing."""

from claw.agent.memory.conflicts.forms.form import NO, YES, Row

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
# "today's meeting" is another one tomorrow.
_DAY = (r"(?!(?:today|tomorrow|tonight|yesterday|\w+day|week|month|year|it"
        r"|that|what|here|there|let)'s)")
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

ROWS: tuple[Row, ...] = (
    ("live", rf"{_I}{_HOW} (?:live|lives|living|reside|resides)"
     rf"(?: \w+)? (?:in|at) {_V}", None, False),
    ("live", rf"{_I}{_HOW} (?:moved|relocated|moving) to {_V}", None, True),
    ("work", rf"{_I}{_HOW} (?:work|works|working) (?:at|for) {_V}", None,
     True),
    ("job", rf"{_I}{_HOW} (?:work|works|working) as (?:an? )?{_V}", None,
     False),
    ("from", rf"{_I}{_HOW} (?:from|come from|comes from) {_V}", None, True),
    ("old", r"(?P<who>i)(?: am|'m)(?: now| just| already)* (?P<value>\d+)"
     "(?: years old| years of age)?", None, False),
    ("old", rf"{_I} is(?: now)? (?P<value>\d+) years old", None, False),
    ("born", rf"{_I}{_HOW} (?:was )?born (?:in|on) {_V}", None, True),
    ("is", rf"(?P<who>my|{_DAY}\w+'s) (?P<what>(?:new |current )?{_OWN}) "
     rf"(?:is|are|was changed to|changed to)(?: now)? {_V}", None, False),
    ("is", rf"(?P<who>my|{_DAY}\w+'s) (?P<what>\w+(?: \w+)?(?:'s \w+)?) "
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
    ("do", rf"{_I}{_NOT} {_ACT}(?: (?!any ?more)(?P<what>\S.{{1,40}}?))?"
     "(?: any ?more)?", NO, False),
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
)
