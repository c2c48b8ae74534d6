"""German sentences that say one value of one thing."""

from claw.agent.memory.conflicts.forms.form import NO, YES, Row

_WHO = r"(?P<who>ich|mein\w* \w+|\w+)"
_V = r"(?P<value>\S.{0,60}?)"
_O = r"(?P<what>\S.{1,40}?)"

ROWS: tuple[Row, ...] = (
    ("live", rf"{_WHO} (?:wohne|wohnt|lebe|lebt)"
     rf"(?: jetzt| nun| seit \w+)? (?:in|im|am|auf) {_V}", None, False),
    ("live", rf"{_WHO} (?:bin|ist)(?: jetzt| gerade"
     rf"| vor kurzem)? nach {_V} (?:gezogen|umgezogen)", None, False),
    ("live", rf"{_WHO} (?:ziehe|zieht) nach {_V}"
     "(?: um)?", None, False),
    ("work", rf"{_WHO} (?:arbeite|arbeitet)(?: jetzt)? "
     rf"(?:bei|für) {_V}", None, False),
    ("old", r"(?P<who>ich) bin(?: jetzt)? (?P<value>\d+)(?: jahre alt)?",
     None, False),
    ("old", rf"{_WHO} ist(?: jetzt)? (?P<value>\d+) jahre alt", None, False),
    ("is", r"(?P<who>mein\w*) (?P<what>(?:neue\w? )?(?:name|vorname|nachname"
     r"|geburtstag|adresse|telefonnummer|handynummer|nummer|passwort"
     r"|wlan-passwort|pin|beruf|chef\w*|arzt|ärztin|hausarzt|zahnarzt|auto"
     r"|miete|gehalt|größe|gewicht|schuhgröße|termin|zimmernummer|konto"
     r"|lieblings\w+)) (?:ist|lautet|heißt|beträgt)(?: jetzt)?"
     rf"(?: am| um| auf)? {_V}", None, False),
    ("is", r"(?P<who>mein\w*) (?P<what>\w+) (?:ist|lautet|heißt|beträgt)"
     rf"(?: jetzt| am| um| auf)* {_V}", None, True),
    ("is", r"(?P<what>(?:der|die|das|unser\w*) \w+(?: \w+)?) (?:ist|beginnt"
     r"|(?P<do>kostet|öffnet|schließt|endet|dauert))"
     rf"(?: jetzt| am| um| auf)* {_V}", None, True),
    ("like", rf"{_WHO} (?:mag|liebe|liebt)"
     rf"(?: sehr| gern)* (?!kein|nicht){_O}", YES, False),
    ("like", rf"{_WHO} (?:mag|liebe|liebt) (?:keine?n?"
     rf"|nicht) {_O}", NO, False),
    ("like", rf"{_WHO} (?:mag|liebe|liebt) "
     r"(?!kein)(?P<what>\S.{1,40}?) (?:gar |überhaupt )?nicht", NO, False),
    ("like", rf"{_WHO} (?:hasse|hasst) {_O}", NO,
     False),
    ("do", rf"{_WHO} (?P<do>trinke?|esse|isst|rauche?"
     r"|spreche|spricht|fahre|fährt)t?(?: gern| viel| jeden tag| oft)*"
     r"(?: (?!kein|nicht|nie)(?P<what>\S.{1,30}?))?", YES, False),
    ("do", rf"{_WHO} (?P<do>trinke?|esse|isst|rauche?"
     r"|spreche|spricht|fahre|fährt)t? (?:keine?n?|nicht|nie|niemals)"
     r"(?: mehr)?(?: (?!mehr)(?P<what>\S.{1,30}?))?(?: mehr)?", NO, False),
)
