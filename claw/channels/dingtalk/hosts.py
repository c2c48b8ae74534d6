"""Which addresses are DingTalk's own. Pure.

Addresses come along with messages (where to answer), with answers of the
API (where a file lies, where to connect to): claw goes nowhere else.
"""

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from claw.net.addresses import is_loopback

OWN = ("dingtalk.com", "dingtalk.io")
# Files lie with DingTalk's parent company.
STORES = (*OWN, "aliyuncs.com", "alicdn.com")
SESSION_PATH = "/robot/sendBySession"
# Nothing that two readers of an address could take for two things.
_PLAIN = re.compile(r"[!#$%&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]+")


def is_own(url: str, bases: Collection[str], *,
           schemes: tuple[str, ...] = ("https",),
           hosts: Collection[str] = OWN) -> bool:
    """Whether an address lies at DingTalk, or, where a base URL of the
    settings is on this machine, on this machine too."""
    if not _PLAIN.fullmatch(url):
        return False
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if "@" in parts.netloc:
        return False
    if parts.scheme in schemes and port in (None, 443) and any(
            host == own or host.endswith("." + own) for own in hosts):
        return True
    if parts.scheme in ("ws", "wss"):
        return is_loopback(url) and any(map(is_loopback, bases))
    return any((parts.scheme, host, port) == (base.scheme, base.hostname,
                                              base.port)
               for base in map(urlsplit, bases))


def is_session(url: str, bases: Collection[str]) -> bool:
    """Whether an answer may be posted there: only to where DingTalk takes
    those of a conversation. Another path of the same host would do for
    somebody else's group."""
    return is_own(url, bases) and urlsplit(url).path == SESSION_PATH
