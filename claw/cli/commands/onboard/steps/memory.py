"""How memories are found, and how long conversation is kept."""

import os

from claw.cli.commands.memory.model import download_model
from claw.cli.commands.onboard.asking import Choice
from claw.cli.commands.onboard.steps.trouble import AGAIN, decide
from claw.cli.commands.onboard.wizard import Wizard
from claw.core.errors import ClawError
from claw.memory.embeddings.local import FOLDER, is_installed, models_folder
from claw.memory.settings import MemorySettings

WORDS, LOCAL, KEEP = "words", "local", "keep"


def ask_memory(w: Wizard) -> None:
    """By words or by meaning too, and for how many days."""
    settings = w.writer.read().decode("memory", MemorySettings)
    now = settings.embedding_provider.strip().lower()
    if now not in ("", "none", LOCAL):
        ways = [Choice(KEEP, f"by meaning, as set: {now}")]
    else:
        ways = []
    while True:
        picked = w.select(
            "memory", "How are memories found?", [
                *ways, Choice(WORDS, "by their words, in any language"),
                Choice(LOCAL, "by meaning too: a model of 91 MB, English")],
            suggested=KEEP if ways else LOCAL if now == LOCAL else WORDS,
            flag="--memory words|local")
        if picked != LOCAL or _install(w):
            break
    days = int(w.text(
        "keep_days", "Days to keep talk (0: for ever):",
        suggested=str(settings.conversation_retention_days),
        flag="--keep-days N", check=check_days))
    w.writer.write({
        **({} if picked == KEEP else
           {("memory", "embedding_provider"): LOCAL} if picked == LOCAL else
           {("memory", "embedding_provider"): None}),
        **({} if days == settings.conversation_retention_days else {
            ("memory", "conversation_retention_days"): days,
            ("memory", "purge_after_days"): days})})


def check_days(text: str) -> str | None:
    return None if text.isascii() and text.isdecimal() \
        and int(text) <= 36_500 else "Type a number of days, e.g. 30."


def _install(w: Wizard) -> bool:
    """Whether the model is there; else the question is asked again."""
    folder = models_folder(w.run.places.home, os.environ) / FOLDER
    if is_installed(folder) or w.chosen.dry_run:
        return True
    try:
        download_model(w.run, folder)
    except ClawError as error:
        with w.refusing("memory"):
            way = decide(w, error, [AGAIN, Choice(WORDS, "by words for now")])
        if way == WORDS:
            w.answers.give("memory", WORDS)
        return False
    return True
