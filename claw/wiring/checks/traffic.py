"""How a channel that runs is, as `claw listen` wrote it: for `channel doctor`
and `status`. Nobody is asked."""

from claw.core.minutes import format_span
from claw.text.plural import plural
from claw.wiring.channels.states import ChannelState, age_s
from claw.wiring.checks.check import Check


def check_traffic(state: ChannelState) -> Check:
    """Its last receive and send, and what is wrong with it."""
    check_id = f"channels.{state.name}.traffic"
    if state.status == "unknown":
        return Check(check_id, "warn", "set up, and not among those that were "
                     "started", "claw listen, without --channel")
    detail = (("" if state.status in ("ok", "error")
               else f"{state.status}; ")
              + _format_last("receive", state.last_receive)
              + ", " + _format_last("send", state.last_send)
              + (f", restarted {plural(state.restarts, 'time')}"
                 if state.restarts else ""))
    if state.status == "error":
        return Check(check_id, "fail", f"{state.error}; {detail}",
                     state.hint or f"claw channel doctor {state.name}")
    if state.rejected is not None:
        return Check(check_id, "warn", f"{detail}; it goes on with the "
                     f"settings from before: {state.rejected}",
                     "correct config.toml, it is taken over at once")
    if state.not_there:
        return Check(
            check_id, "warn", f"{plural(state.not_there, 'message')} that "
            f"the platform took {'is' if state.not_there == 1 else 'are'} "
            f"not there; {detail}", "claw queue list --failed")
    return Check(check_id, "ok", detail)


def _format_last(what: str, stamp: str | None) -> str:
    return f"no {what} since its start" if stamp is None \
        else f"last {what} {format_ago(stamp)}"


def format_ago(stamp: str | None) -> str:
    """How long ago an RFC 3339 time was."""
    seconds = age_s(stamp)
    return "never" if seconds is None else f"{format_span(seconds)} ago"
