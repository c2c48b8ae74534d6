"""When a part that failed is sent again, and whether it may have arrived.

Pure: what an error says decides, and how often it was tried.
"""

from claw.core.errors import (
    AuthError,
    ConfigError,
    NotFoundError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.net.errors import class_names

LONGEST_S = 30.0
UNREACHED_S = 15.0
LONGEST_ASKED_S = 3600.0  # then it is tried whether that still holds
_NEVER_CONNECTED = {"ConnectionRefusedError", "ConnectError",
                    "ConnectTimeout", "ProxyError", "gaierror"}


def may_have_arrived(error: Exception) -> bool:
    """Whether a failed call may have done its work. A server's refusal
    says that it did not; so does a connection that was never made."""
    if isinstance(error, AuthError | ConfigError | NotFoundError
                  | RateLimitedError | RequestRefusedError):
        return False
    given = getattr(error, "maybe_sent", None)
    if given is not None:
        return bool(given)
    cause = error.__cause__
    return cause is None or not class_names(cause) & _NEVER_CONNECTED


def is_final(error: Exception) -> bool:
    """Whether trying again is useless: the platform understood and will
    not have it."""
    return isinstance(error, RequestRefusedError | NotFoundError)


def wait_s(error: Exception, attempts: int) -> float:
    """Seconds until the next try: what the server asked for, else
    1, 1.5, 2.2 ... 30; at most 15 where no server was reached, since
    trying to reach one costs nobody anything."""
    asked = (error.retry_after_s if isinstance(error, UnavailableError)
             else None)
    if asked:  # none: it said nothing, or "at once", which is refused again
        return min(asked, LONGEST_ASKED_S)
    if isinstance(error, AuthError | ConfigError):
        return 60.0
    unreached = (isinstance(error, UnavailableError)
                 and error.status is None and not may_have_arrived(error))
    return float(min(UNREACHED_S if unreached else LONGEST_S,
                     1.5 ** min(attempts, 10)))
