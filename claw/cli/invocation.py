"""One run of a command: its global options, places, settings and streams.

Commands get it with `Invocation.of(context)` and use nothing global.
"""

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from claw.cli.show.output import Output
from claw.config.places import Places, locate
from claw.config.tree import Tree, load
from claw.core.errors import ClawError, UsageError
from claw.security.redact.redactor import Redactor
from claw.wiring.channels.owned import find_owned
from claw.wiring.workspace.secrets import collect_secrets
from claw.wiring.workspace.trust import settle_trust

if TYPE_CHECKING:
    from claw.security.trust import Standing


class Invocation:
    """Filled by the option callbacks while the line is parsed."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self._is_adopted = False
        self._command = ""

    @classmethod
    def of(cls, context: Any) -> "Invocation":
        found = context.find_object(cls)
        if found is None:
            raise RuntimeError("no Invocation in this context")
        found._command = context.command_path
        return found  # type: ignore[no-any-return]

    @property
    def json(self) -> bool:
        return bool(self.options.get("json"))

    @property
    def jsonl(self) -> bool:
        return bool(self.options.get("jsonl"))

    def check_options(self) -> None:
        """Raises UsageError for global options that contradict."""
        if self.json and self.jsonl:
            raise UsageError("--json and --jsonl exclude each other",
                             hint="--json prints one document, --jsonl an "
                                  "object a line")

    @property
    def as_json(self) -> bool:
        """Whether a result that does not stream is printed as JSON: one
        document is one line too, so --jsonl asks for the same."""
        return self.json or self.jsonl

    @property
    def verbose(self) -> int:
        return int(self.options.get("verbose", 0))

    @cached_property
    def out(self) -> Output:
        """Where results and notes go."""
        form = self.options.get("log_format", "text")
        if form not in ("text", "json"):
            raise UsageError(f"--log-format: {form!r} is neither text "
                             "nor json")
        return Output(json=self.json, quiet=bool(self.options.get("quiet")),
                      json_notes=form == "json",
                      redactor=None if self.options.get("show_secrets")
                      else Redactor(self._collect_secrets, quick=True))

    def _collect_secrets(self) -> list[str]:
        try:
            return collect_secrets(self.settings)
        except ClawError:  # settings that can't be read have none to show
            return []

    @cached_property
    def places(self) -> Places:
        """The home and the workspace, and whether it counts. Nothing is
        created but the owner's yes (--trust-workspace)."""
        return settle_trust(self._located, trusts=self._trusts)

    @cached_property
    def _located(self) -> Places:
        places = locate(self.options.get("config_dir"),
                        self.options.get("workspace"),
                        command=self._command)
        find_owned(places)
        return places

    @property
    def _trusts(self) -> bool:
        return bool(self.options.get("trust_workspace"))

    def use_workspace(self, *, asks: bool = False,
                      adopts: bool = True) -> Places:
        """The places for a command that works in them: claw's own from now
        on, or without `adopts` once something is kept there. With `asks`
        the owner is asked whether what a folder from elsewhere holds
        counts, and hears where it does not."""
        def ask(standing: "Standing") -> bool | None:
            from claw.cli.terminal.approval import ask_for_trust  # asyncio
            return ask_for_trust(self.out, self._located, standing)
        self.__dict__["places"] = settle_trust(
            self._located, trusts=self._trusts, adopts=adopts,
            ask=ask if asks else None, notify=self.out.warn)
        return self.places

    def adopt_workspace(self) -> None:
        """Something is about to be kept in a workspace that counts."""
        if not self._is_adopted:
            self._is_adopted = True
            settle_trust(self.places, adopts=True, notify=self.out.warn)

    @cached_property
    def settings(self) -> Tree:
        """The settings tree; its warnings are said at the end."""
        return load(self.places)

    def print_result(self, document: Any, text: str) -> None:
        """One result: a JSON document where that is asked for, else text."""
        if self.as_json:
            self.out.document(document)
        else:
            self.out.result(text)

    def print_json_rows(self, name: str, rows: Iterable[Any], /, *,
                        total: int | None = None, **head: Any) -> bool:
        """Rows as one JSON document or an object a line; False where
        neither is asked for and nothing was printed.

        `head` stands before the rows in the document, `total` behind them:
        their number, where nothing else is said.
        """
        if self.json:
            found = list(rows)
            self.out.document({**head, name: found, "total":
                               len(found) if total is None else total})
        elif self.jsonl:
            self.out.lines(rows)
        return self.as_json

    def say_warnings(self) -> None:
        """Say what the settings tree has to remark, once."""
        if "settings" in self.__dict__:
            for warning in self.settings.warnings:
                self.out.warn(warning)
            self.settings.warnings.clear()

    def say_missing(self) -> None:
        """Say that the folder named with -w is not there: it may be a slip,
        and what was looked up in it was looked up nowhere."""
        if "_located" in self.__dict__ and self.options.get("workspace") \
                and not self._located.workspace.exists():
            self.out.note(f"there is no workspace {self._located.workspace}")

    def forget_warnings(self, said: Collection[str]) -> None:
        """Of what has been said already; a hint may stand behind it."""
        if "settings" in self.__dict__:
            self.settings.warnings[:] = [
                warning for warning in self.settings.warnings
                if not warning.startswith(tuple(said))]

    def say_redacted(self) -> None:
        """Say once that something was left out of what was printed."""
        redactor = self.out.redactor if "out" in self.__dict__ else None
        if redactor is not None and redactor.hits:
            self.out.note("secrets were left out; --show-secrets prints them")
