"""Times of memories: RFC 3339 in UTC, "2026-11-20T19:00:00.123456Z".

Always six digits of a second or more, so that the order of the texts is
the order of the instants (to the microsecond) and SQL can compare them.
"""

import re
from datetime import UTC, datetime, timedelta

_DATE_ONLY = r"\d{4}-\d\d-\d\d"
# Small letters: "5M" would be minutes to one and months to another.
_AGE = r"([0-9]{1,6})\s*([smhdwy])"
_CANONICAL = len("2026-11-20T19:00:00.123456Z")
_AGE_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400,
                "y": 365 * 86400}


def now() -> str:
    """This moment."""
    return canonical(datetime.now(UTC))


def canonical(moment: datetime, more_digits: str = "") -> str:
    """The one form; `more_digits` are those past the microsecond. Raises
    OverflowError where UTC leaves the years 1 to 9999."""
    naive = moment.astimezone(UTC).replace(tzinfo=None)
    return naive.isoformat(timespec="microseconds") + more_digits + "Z"


def to_utc(text: str) -> str:
    """Any RFC 3339 or ISO 8601 time in the one form.

    A time without offset is taken as UTC, a date as its midnight. Raises
    ValueError for anything else.
    """
    if len(text) == _CANONICAL and text[-1] == "Z" and text[19] == "." \
            and text[10] == "T" and text[5:7].isdigit() and text.isascii():
        datetime.fromisoformat(text[:-1])
        return text
    text = text.strip()
    fraction = re.search(r"[.,](\d+)", text)
    digits = fraction[1][6:9].rstrip("0") if fraction else ""
    if fraction:
        text = text.replace(fraction[0], "." + fraction[1][:6].ljust(6, "0"))
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        return canonical(moment, digits)
    except OverflowError as error:
        raise ValueError(f"out of range: {text}") from error


def lower_bound(text: str) -> str:
    """An inclusive lower bound: compares at most equal to every text of
    its instant, whatever digits follow."""
    return to_utc(text).removesuffix("Z")


def upper_bound(text: str) -> str:
    """An inclusive upper bound: a date means the end of that day, a
    moment all of its microsecond."""
    bound = to_utc(text)
    return (bound[:10] + "T23:59:59.999999Z"
            if re.fullmatch(_DATE_ONLY, text.strip()) else bound[:26] + "Z")


def before(age: str, moment: datetime) -> str:
    """The time that lies `age` ("30d", "12h", "2w") before a moment, or
    `age` itself where it is a time. Raises ValueError."""
    match = re.fullmatch(_AGE, age.strip())
    if match is None:
        return to_utc(age)
    seconds = int(match[1]) * _AGE_SECONDS[match[2]]
    try:
        return canonical(moment - timedelta(seconds=seconds))
    except OverflowError as error:
        raise ValueError(f"too long ago: {age}") from error
