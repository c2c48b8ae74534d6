"""One run of the wizard: an answer comes from what is kept, a flag, a
person, or is the one that is suggested; and it is kept at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from claw.cli.commands.onboard.asking import BACK, Asker, Choice
from claw.cli.invocation import Invocation
from claw.cli.show.bars import count_columns, wrap
from claw.cli.show.look import MARKS, paint
from claw.cli.show.output import (
    fold,
    is_terminal,
    visible,
    wants_colour,
    wants_styles,
)
from claw.core.errors import ClawError, ExitCode, UsageError
from claw.core.value import Value
from claw.wiring.setup.onboard.answers import Answers, is_private
from claw.wiring.setup.onboard.changes import ConfigWriter

T = TypeVar("T")

YES, NO = "yes", "no"


class StepBack(Exception):
    """The person wants to answer the question before anew."""


class Chosen(Value):
    """What the flags say beside the answers. `tests` False: nothing is
    tried; `pair_s`: how long to wait for the pairing without a
    terminal."""

    takes_suggestions: bool = False
    tests: bool = True
    pair_s: float | None = None
    dry_run: bool = False


class Wizard:
    """What a step needs. `asker` None: nobody can be asked."""

    def __init__(self, run: Invocation, answers: Answers,
                 writer: ConfigWriter, asker: Asker | None,
                 chosen: Chosen) -> None:
        self.run = run
        self.answers = answers
        self.writer = writer
        self.asker = asker
        self.chosen = chosen
        self.exit_code = ExitCode.DONE
        self._tried: dict[tuple[str, ...], Any] = {}

    # -- questions

    def select(self, name: str, question: str, choices: Sequence[Choice], *,
               suggested: str | None, flag: str) -> str:
        """One of the choices, or what was answered already."""
        return self._answer(
            name, lambda asker: self.pick(asker, question, choices,
                                          suggested), suggested, flag)

    def pick(self, asker: Asker, question: str, choices: Sequence[Choice],
             suggested: str | None) -> str:
        """One of the choices, which is not kept."""
        ways = [Choice(BACK, "back")] if self.answers.can_go_back else []
        picked = asker.select(question, [*choices, *ways], suggested)
        if picked == BACK:
            raise StepBack
        return picked

    def confirm(self, name: str, question: str, *, suggested: bool,
                flag: str) -> bool:
        return self.select(
            name, question, [Choice(YES, "yes"), Choice(NO, "no")],
            suggested=YES if suggested else NO, flag=flag) == YES

    def text(self, name: str, question: str, *, suggested: str | None,
             flag: str, check: Callable[[str], str | None]
             = lambda text: None) -> str:
        """A line; `check` says what is wrong with it."""
        def ask(asker: Asker) -> str:
            # a terminal has the suggestion in its line already
            return self._until_good(
                lambda: asker.text(question, suggested or "").strip(), check,
                (BACK, f"{suggested or ''}{BACK}"))
        given = self._answer(name, ask, suggested, flag)
        if (problem := check(given)) is not None:
            self.answers.forget(name)
            if self.asker is None:
                raise UsageError(f"{flag}: {problem}")
            self.say(problem)
            return self.text(name, question, suggested=suggested, flag=flag,
                             check=check)
        return given

    def secret(self, name: str, question: str, *, flag: str,
               optional: bool = False) -> str:
        """A key as it was pasted, without blanks and line ends."""
        def ask(asker: Asker) -> str:
            return self._until_good(
                lambda: "".join(asker.secret(question).split()),
                lambda text: None if text or optional
                else "Nothing came. Paste it, then press Enter.")
        return self._answer(name, ask, "" if optional else None, flag)

    def _until_good(self, read: Callable[[], str],
                    check: Callable[[str], str | None],
                    ways_back: Sequence[str] = (BACK,)) -> str:
        while True:
            text = read()
            if text in ways_back:
                raise StepBack
            if (problem := check(text)) is None:
                return text
            self.say(problem)

    def _answer(self, name: str, ask: Callable[[Asker], str],
                suggested: str | None, flag: str) -> str:
        given = self.answers.get(name)
        if given is not None:
            return given
        if self.suggests and suggested is not None:
            given = suggested
        elif self.asker is not None:
            given = ask(self.asker)
        else:
            raise MissingAnswer(flag)
        self.answers.give(name, given)
        return given

    @contextmanager
    def refusing(self, *names: str) -> Iterator[None]:
        """What is refused is not kept: the next run would end at it. A
        secret goes with Ctrl-C too; the rest is asked about again."""
        try:
            yield
        except ClawError:
            self.answers.forget(*names)
            raise
        except (KeyboardInterrupt, EOFError):
            self.answers.forget(*filter(is_private, names))
            raise

    def remember(self, what: tuple[str, ...], try_it: Callable[[], T]) -> T:
        """What came of trying this, which is done once a run."""
        if what not in self._tried:
            self._tried[what] = try_it()
        found: T = self._tried[what]
        return found

    def forget_tried(self) -> None:
        """Everything is to be tried anew."""
        self._tried.clear()

    # -- what is said meanwhile, on stderr

    def head(self, text: str) -> None:
        """The title of a step."""
        if not self.run.out.quiet:
            stream = self.run.out.stderr
            shown = paint(text, "h2", colour=False) \
                if wants_styles(stream) else text
            stream.write(f"\n{shown}\n")
            stream.flush()

    def say(self, text: str, indent: str = "") -> None:
        """A sentence, within the width of the terminal."""
        if self.run.out.quiet:
            return
        out = self.run.out
        text = visible(out.redact(text))
        lines = text.split("\n")
        if is_terminal(out.stderr):
            room = count_columns(out.stderr) - len(indent)
            lines = [part for line in lines for part in fold(line, room)]
        out.interrupt_waiting()
        out.stderr.write("".join(f"{indent}{line}\n" for line in lines))
        out.stderr.flush()

    def mark(self, status: str, text: str, hint: str | None = None) -> None:
        """A row of a check, with its next step where it is not well."""
        out = self.run.out
        if out.quiet and status in ("ok", "skip"):
            return
        head = f"  {MARKS[status]} "
        lines = [text] + ([f"-> {hint}"] if hint and status != "ok" else [])
        if is_terminal(out.stderr):
            room = count_columns(out.stderr) - len(head)
            lines = [part for line in lines
                     for part in wrap(visible(line), room)]
        first = head
        if wants_styles(out.stderr):
            first = "  " + paint(MARKS[status], status,
                                 colour=wants_colour(out.stderr)) + " "
        out.interrupt_waiting()
        out.stderr.write(first + out.redact(
            f"\n{' ' * len(head)}".join(lines)) + "\n")
        out.stderr.flush()

    def explain(self, error: ClawError) -> None:
        """An error that does not end the wizard."""
        self.mark("fail", error.message, error.hint)

    @property
    def asks(self) -> bool:
        """Whether a person is there."""
        return self.asker is not None

    @property
    def suggests(self) -> bool:
        """Whether what is suggested counts as answered."""
        return self.asker is None or self.chosen.takes_suggestions


class MissingAnswer(Exception):
    """Nobody can be asked, and this flag was not given."""

    def __init__(self, flag: str) -> None:
        super().__init__(flag)
        self.flag = flag


def show_answer(name: str, text: str) -> str:
    """An answer as it may be seen."""
    return "********" if is_private(name) and text else text or "-"
