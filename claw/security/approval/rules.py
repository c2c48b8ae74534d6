"""When the owner must be asked, by what a call is."""

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    runtime_checkable,
)

from claw.core.labels import OWN
from claw.core.turn import (
    TurnContext,
)
from claw.security.permissions import (
    list_arguments,
)
from claw.security.settings import AUTO_APPROVE, AutonomySettings
from claw.security.shell.words import words

if TYPE_CHECKING:
    from claw.security.shell.commands import Verdict

# Tools that carry something out of the turn. A turn that has read foreign
# text needs the owner's yes for them.
_SINKS = frozenset(words(
    "shell git_operations http_request cron_add cron_update cron_run "
    "schedule message send delegate swarm browser browser_open pushover "
    "sessions_send"))
# Tools that change what later turns read: after text of others only, since
# who lets files be written unasked works on the workspace's own.
_CHANGES = frozenset(words(
    "file_write file_edit apply_patch memory_forget memory_purge "
    "cron_remove"))
# Not risky while the turn has read nothing foreign.
_HARMLESS = frozenset(("memory_store", "reaction"))
SUPERVISED = "supervised mode"
ALWAYS = "it asks before every call"
LOADED = "programs of later commands may read their settings there"


@runtime_checkable
class ChecksArguments(Protocol):
    """A tool that can tell wrong arguments without running."""

    def problem(self, args: Mapping[str, Any]) -> str | None: ...


@runtime_checkable
class ReadsSometimes(Protocol):
    """A tool some of whose calls change nothing and send nothing."""

    def only_reads(self, args: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class CarriesOut(Protocol):
    """A tool of a kind that is no name in this table: it says itself
    whether its calls carry something out of the turn."""

    is_sink: bool


@runtime_checkable
class AsksOwner(Protocol):
    """A tool that puts what it did to the owner itself, as a diff."""

    def asks_owner(self, args: Mapping[str, Any], context: TurnContext
                   ) -> bool: ...


@runtime_checkable
class PreviewsChange(Protocol):
    """A tool that can tell what a call would change, as the lines of a
    diff; none where it can't be shown whole."""

    def preview(self, args: Mapping[str, Any]) -> tuple[str, ...]: ...


@runtime_checkable
class WritesSettings(Protocol):
    """A tool some of whose calls write what programs load by themselves,
    such as .gitconfig or .npmrc in the workspace, which is their HOME."""

    def writes_settings(self, args: Mapping[str, Any]) -> bool: ...


@runtime_checkable
class ExplainsCall(Protocol):
    """A tool whose arguments do not say what will be done: `explain` adds
    it to what the owner sees, by names that are no parameter's. May
    wait."""

    def explain(self, args: Mapping[str, Any]) -> Mapping[str, Any]: ...


def approval_key(tool: str, args: Mapping[str, Any], cwd: Path) -> str:
    """What a yes is bound to: SHA-256 of tool, canonical arguments and
    working directory, in hexadecimal."""
    canonical = json.dumps([tool, list_arguments(args), str(cwd)],
                           sort_keys=True,
                           separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def is_sink(tool: str, args: Mapping[str, Any], *, reads: bool = False
            ) -> bool:
    """Whether the call sends, runs, schedules, or stores: a memory of any
    category stands in later prompts, where its origin is not known. A tool
    of the owner's or of a package that does not say that it only `reads`
    may do all that."""
    if tool == "memory_store":
        return True
    if tool == "http_request":
        return str(args.get("method", "GET")).upper() not in ("GET", "HEAD")
    return tool in _SINKS or not (
        reads or tool in _CHANGES or tool in AUTO_APPROVE)


def leads_elsewhere(tool: str, args: Mapping[str, Any],
                    context: TurnContext | None) -> bool:
    """Whether a page is fetched, after any text that the owner did not
    write, whose address nobody wrote: one that a model makes up can carry
    away what it has read. A file of the workspace may ask for that as a page
    may, and the sandbox does not hold it back."""
    if tool not in ("web_fetch", "http_request") or context is None \
            or not context.labels:
        return False
    url = str(args.get("url")).strip()
    page = url.partition("#")[0]
    return not (url in context.asked
                or any(known in (url, page)
                       for known in (*context.found, *context.seen)))


def needs_approval(tool: str, settings: AutonomySettings, *,
                   interactive: bool, remembered: bool = False,
                   labels: Collection[str] = (), sink: bool = False,
                   verdict: "Verdict | None" = None,
                   reads: bool = False, asks: bool = False,
                   loaded: bool = False) -> str | None:
    """Why the owner must be asked, None if not.

    `labels` are the turn's origins of foreign text, `sink` as is_sink
    says, `verdict` the gate's for a shell call, `reads` that the tool only
    reads, `asks` that it asks every time, `loaded` that programs would load
    what it writes. Else full and read-only levels never ask: the one may,
    the other can't.
    """
    if asks and settings.level != "readonly":
        return ALWAYS
    if settings.level != "supervised":
        return None
    if tool in settings.always_ask or "*" in settings.always_ask:
        return "autonomy.always_ask names it"
    # A low-risk command has no way out of the sandbox, and one that the
    # owner has allowed for always he has seen: text of the workspace's own
    # is no reason to ask for them.
    contained = (verdict is not None and OWN.issuperset(labels)
                 and (verdict.risk == "low" or remembered))
    sink = sink or (tool in _CHANGES and not OWN.issuperset(labels))
    if labels and sink and not contained:
        return "this turn has read text from: " + ", ".join(sorted(labels))
    if loaded:
        return LOADED
    if remembered:
        return None
    if verdict is not None:
        if verdict.asks:
            return f"{verdict.risk}-risk command" + (
                f": {verdict.detail}" if verdict.detail else "")
        if verdict.reads or not interactive:
            return None  # the command gate decides alone
    if reads or tool in settings.approved_tools() \
            or "*" in settings.auto_approve:
        return None
    return None if tool in _HARMLESS else SUPERVISED
