"""What comes of a map, on stdout, and what went wrong, on stderr."""

import time
from typing import Any

import typer

from claw.cli.commands.map.status import Status
from claw.cli.invocation import Invocation
from claw.cli.show.output import join_lines, to_json
from claw.core.errors import ClawError
from claw.core.ledger import dollars
from claw.storage.map_answers import Job
from claw.wiring.map.task import Outcome


class Show:
    """Prints outcomes as they come, in order. An input without an answer
    gets an empty line, so that line by line the two sides fit; a blank one
    too. An answer stands on one line, unless NUL ends it or it is JSON.
    Answers about files stand under their names, as `head` shows files."""

    def __init__(self, run: Invocation, status: Status, *, nul: bool,
                 are_files: bool, keeps: bool) -> None:
        self._out = run.out
        self._form = ("json" if run.json else "jsonl" if run.jsonl
                      else "nul" if nul else "files" if are_files
                      else "lines")
        self._status = status
        self._began = time.monotonic()
        self._job: Job | None = None
        self._code = 0
        self._go_on = ("the same command goes on from here: what is answered "
                       "is kept" if keeps else
                       "nothing was kept: the same command begins anew")
        self.asked = self.kept = self.failed = self.shown = 0
        self.cost = 0.0
        self.is_priced = True

    def begin(self, job: Job) -> None:
        self._job = job

    def outcome(self, found: Outcome) -> None:
        """One input is done."""
        self._count(found)
        self._status.clear()
        if self._form in ("json", "jsonl"):
            self._show_record(found)
        elif self._form == "files":
            self._show_file(found)
        else:
            text = "" if found.answer is None else found.answer.text
            self._out.piece(text + "\0" if self._form == "nul"
                            else _fold(text) + "\n")
        if found.error is not None:
            message, name = found.error.message, _name(found)
            if found.input.file is None or found.input.file not in message:
                message = f"{name}: {message}"
            self._out.warn(message + (f" ({found.error.hint})"
                                      if found.error.hint else ""))
        self._status.update(self)

    def end(self, stopped_by: ClawError | None) -> None:
        """Say how it went. Ends the command with the code of what went
        wrong, if something did."""
        self._status.clear()
        if self._form == "json":
            self._end_document(stopped_by)
        self._out.note(self._sum_up())
        if stopped_by is not None or self._code:
            self._out.note(self._go_on)
        if stopped_by is not None and self._form != "json":
            raise stopped_by
        if stopped_by is not None:
            self._out.warn(stopped_by.message)
            raise typer.Exit(stopped_by.exit_code)
        if self._code:
            raise typer.Exit(self._code)

    def interrupted(self) -> None:
        """Ctrl-C or SIGTERM came."""
        self._status.clear()
        self._out.end()
        self._out.note(self._sum_up())
        self._out.note(self._go_on)

    def _count(self, found: Outcome) -> None:
        self.shown += 1
        if found.error is not None:
            self.failed += 1
            self._code = self._code or found.error.exit_code
        elif found.kept:
            self.kept += 1
        elif found.answer is not None:
            self.asked += 1
            self.cost += found.answer.cost_usd or 0.0
            self.is_priced &= found.answer.cost_usd is not None

    def _show_record(self, found: Outcome) -> None:
        record = _describe(found)
        if self._form == "jsonl":
            self._out.lines([record])
            return
        if self._out.redactor is not None:
            record = self._out.redactor.record(record)
        self._out.stdout.write(('{"results": [' if self.shown == 1 else ", ")
                               + to_json(record))
        self._out.stdout.flush()

    def _end_document(self, stopped_by: ClawError | None) -> None:
        rest: dict[str, Any] = {
            "total": self.shown, "failed": self.failed, "kept": self.kept,
            "cost": self.cost if self.is_priced else None,
            "job": self._job and self._job.id}
        if stopped_by is not None:
            rest["error"] = _describe_error(stopped_by)
        self._out.stdout.write(("" if self.shown else '{"results": [')
                               + "], " + to_json(rest)[1:] + "\n")
        self._out.stdout.flush()

    def _show_file(self, found: Outcome) -> None:
        if found.answer is not None:
            self._out.piece(("\n" if self.shown > 1 else "")
                            + f"==> {join_lines(found.input.file or '')} <==\n"
                            + found.answer.text.rstrip("\n") + "\n")

    def _sum_up(self) -> str:
        """One line of numbers, and how to go on."""
        parts = [f"{self.asked:,} answered"]
        if self.kept:
            parts.append(f"{self.kept:,} known before")
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.is_priced and self.asked:
            parts.append(dollars(self.cost))
        parts.append(f"{time.monotonic() - self._began:.1f} s")
        return ", ".join(parts)


def _fold(text: str) -> str:
    """An answer on one line."""
    return " ".join(line for part in text.splitlines()
                    if (line := part.strip()))


def _name(found: Outcome) -> str:
    return join_lines(found.input.file) if found.input.file is not None \
        else f"input {found.input.number:,}"


def _describe(found: Outcome) -> dict[str, Any]:
    """An outcome as JSON."""
    one, answer = found.input, found.answer
    return {
        "index": one.number,
        **({"input": one.text} if one.file is None else {"file": one.file}),
        "text": "" if one.is_blank else answer and answer.text,
        "provider": answer and answer.provider,
        "model": answer and answer.model,
        "usage": answer and {"input_tokens": answer.input_tokens,
                             "output_tokens": answer.output_tokens},
        "cost": answer and answer.cost_usd,
        "kept": found.kept and answer is not None,
        "error": found.error and _describe_error(found.error)}


def _describe_error(error: ClawError) -> dict[str, Any]:
    return {"kind": error.kind, "message": error.message,
            "hint": error.hint}

