"""The end: a real answer, what has changed, and three commands."""

from typing import Any

from claw.cli.commands.onboard.steps.model import NONE
from claw.cli.commands.onboard.wizard import Wizard
from claw.cli.show.output import error_json
from claw.core.errors import ClawError
from claw.memory.settings import MemorySettings
from claw.providers.factory import OFFLINE
from claw.wiring.channels.names import list_configured
from claw.wiring.setup.onboard.changes import compare
from claw.wiring.setup.onboard.channel import list_people
from claw.wiring.setup.onboard.ending import (
    QUESTION,
    ask_once,
    has_model,
    list_next,
)


def show_ending(w: Wizard) -> dict[str, Any]:
    """The result, as --json prints it, and for people on stdout. A model
    that does not answer is an error, and the settings stay."""
    tree, out = w.writer.read(), w.run.out
    model, said, error = has_model(tree), None, None
    if model and w.chosen.tests and w.answers.get(
            "provider") not in (NONE, OFFLINE):
        said, error = _ask(w)
    elif not model:
        w.say("No model is set: claw answers offline, from your text and "
              "memory.")
    changes = compare(w.answers.before or {}, w.writer.flatten())
    names = list_configured(tree)
    memory = tree.decode("memory", MemorySettings)
    found = {
        "model": tree.get("default_model"),
        "provider": tree.get("default_provider"),
        "answer": said,
        "error": None if error is None else error_json(error)["error"],
        "memory": {
            "embedding_provider": memory.embedding_provider,
            "keep_days": memory.conversation_retention_days},
        "channels": {
            name: list_people(tree, name) for name in names},
        "autonomy": tree.get("autonomy.level", "supervised"),
        "service": w.answers.get("service") == "yes",
        "dry_run": w.chosen.dry_run, "changes": changes,
        "next": list_next(tree, model=model, answers=error is None,
                          service=w.answers.get("service") == "yes")}
    if not out.json:
        _print(w, found)
    return found


def _ask(w: Wizard) -> tuple[str | None, ClawError | None]:
    try:
        with w.run.out.waiting("asking the model"):
            return ask_once(w.writer.read()), None
    except ClawError as error:
        w.exit_code = error.exit_code
        w.mark("fail", f"the model gave no answer: {error.message}",
               error.hint or "claw provider test")
        return None, error


def _print(w: Wizard, found: dict[str, Any]) -> None:
    out = w.run.out
    lines = []
    if found["answer"]:
        lines += [f"You: {QUESTION}", f"claw: {found['answer']}", ""]
    changes = found["changes"]
    title = "would say" if w.chosen.dry_run else "says now"
    lines += [f"{w.run.places.config_file} {title}:" if changes
              else f"{w.run.places.config_file}: nothing to change",
              *(f"  {line}" for line in changes), ""]
    lines += ["Next:", *(f"  {line}" for line in found["next"])]
    out.result("\n".join(lines))
