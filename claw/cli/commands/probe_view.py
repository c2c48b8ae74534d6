"""The rows of `claw provider test`, each as soon as it is known."""

from claw.cli.show.check_list import show_hint, show_line
from claw.cli.show.output import Output
from claw.providers.check import Check


class ProbeView:
    """Providers are asked beside each other and shown one after the other:
    rows of a later one wait. On a terminal, with `folds`, the sound rows of
    a provider are one."""

    def __init__(self, out: Output, *, folds: bool) -> None:
        self._out = out
        self._folds = folds and out.on_terminal
        self._rows: dict[int, list[tuple[str, Check]]] = {}
        self._ended: set[int] = set()
        self._first = self._shown = 0
        self._head = ""

    def hear(self, number: int, head: str, check: Check) -> None:
        """A row of the provider with this number, the first is 0."""
        self._rows.setdefault(number, []).append((head, check))
        self._show_known()

    def finish(self, number: int) -> None:
        """There are no more of it."""
        self._ended.add(number)
        while self._first in self._ended:
            self._show_known()
            self._show_sound()
            self._first += 1
            self._shown, self._head = 0, ""
        self._show_known()

    def _show_known(self) -> None:
        rows = self._rows.get(self._first, [])
        for head, check in rows[self._shown:]:
            if not (self._folds and check.status == "ok"):
                self._show_row(head, check)
            else:
                self._out.progress(f"asking {head}: {check.id} is well")
        self._shown = len(rows)

    def _show_row(self, head: str, check: Check) -> None:
        if head != self._head:
            self._head = head
            self._out.result(head)
        timed = check.ms is not None and check.id != "stream"
        took = f" ({check.ms} ms)" if timed else ""
        show_line(check.status,
                  f"{check.id:<7} {check.detail}{took}", self._out)
        if check.hint and check.status != "ok":
            show_hint(check.hint, self._out)

    def _show_sound(self) -> None:
        """The sound rows of one provider in one; of a whole one its name
        stands there too, and how fast it is."""
        rows = self._rows.get(self._first, [])
        sound = [check for _, check in rows if check.status == "ok"]
        if not (self._folds and sound):
            return
        text = ", ".join(check.id for check in sound)
        if len(sound) == len(rows):
            text = f"{rows[0][0]}: {text}"
        if first := [check.detail for check in sound
                     if check.id == "stream" and check.ms is not None]:
            text += f"; {first[0]}"
        show_line("ok", text, self._out)
