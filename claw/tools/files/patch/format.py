"""The patch that models write, and the text it makes of another. Pure.

    *** Begin Patch
    *** Update File: notes.txt
    @@ def main():                a line above the change, where it helps
     a line that stays
    -a line that goes
    +a line that comes
    *** Add File: new.txt
    +its only line
    *** Delete File: old.txt
    *** End Patch

`*** Move to: other.txt` may follow `*** Update File:`, and `*** End of File`
ends a change of the last lines. Lines are compared whole; only their ends
(\\n, \\r\\n) do not count, and those of the file are kept.
"""

from collections.abc import Iterator, Sequence

from claw.core.errors import UsageError
from claw.core.value import Value

BEGIN, END = "*** Begin Patch", "*** End Patch"
UPDATE, ADD, DELETE = ("*** Update File: ", "*** Add File: ",
                       "*** Delete File: ")
MOVE, LAST = "*** Move to: ", "*** End of File"
_HEADS = (UPDATE, ADD, DELETE)


class Hunk(Value):
    """Lines that give way to others, below those that `anchors` name.
    `line` is where it stands in the patch, `at_end` that it changes the
    last lines."""

    line: int
    anchors: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    at_end: bool = False


class PatchedFile(Value):
    """What happens to one file: UPDATE with hunks, ADD with lines, or
    DELETE; `to` is its new name, where it moves."""

    kind: str
    path: str
    lines: tuple[str, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    to: str | None = None


def parse_patch(text: str) -> list[PatchedFile]:
    """The changes of a patch, in order. Raises UsageError, with the line
    of the patch."""
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    if lines[0].strip() != BEGIN:
        shown = lines[0][:80]
        raise _wrong(1, f'the patch must begin with "{BEGIN}", not '
                        f'"{shown}"')
    if lines[-1].strip() != END:
        raise _wrong(len(lines), f'the patch must end with "{END}"')
    changes = list(_read_files(lines[:-1]))
    if not changes:
        raise _wrong(2, "the patch changes no file")
    return changes


def _read_files(lines: Sequence[str]) -> Iterator[PatchedFile]:
    at = 1
    while at < len(lines):
        head = next((h for h in _HEADS if lines[at].startswith(h)), None)
        if head is None:
            if not lines[at].strip():
                at += 1
                continue
            raise _wrong(at + 1, "expected one of " + ", ".join(
                f'"{h.strip()}"' for h in _HEADS)
                + f', not "{lines[at][:80]}"')
        path = lines[at][len(head):].strip()
        if not path:
            raise _wrong(at + 1, "the name of the file is missing")
        end = next((n for n in range(at + 1, len(lines))
                    if lines[n].startswith(_HEADS)), len(lines))
        yield _read_change(head, path, lines, at + 1, end)
        at = end


def _read_change(head: str, path: str, lines: Sequence[str], at: int,
                 end: int) -> PatchedFile:
    if head == UPDATE:
        to = None
        if at < end and lines[at].startswith(MOVE):
            to = lines[at][len(MOVE):].strip()
            at += 1
        while end > at and not lines[end - 1]:
            end -= 1  # blank lines before the next file
        hunks = tuple(_read_hunks(lines, at, end))
        if not hunks and to is None:
            raise _wrong(at, f"no change is given for {path}")
        return PatchedFile(UPDATE, path, hunks=hunks, to=to)
    body = [(n, lines[n]) for n in range(at, end) if lines[n].strip()
            or head == ADD]
    if head == DELETE:
        if body:
            raise _wrong(body[0][0] + 1, f"nothing may follow {DELETE}{path}")
        return PatchedFile(DELETE, path)
    while body and not body[-1][1]:
        body.pop()
    for number, line in body:
        if not line.startswith("+"):
            raise _wrong(number + 1, "each line of a new file begins with +")
    return PatchedFile(ADD, path, tuple(line[1:] for _, line in body))


def _read_hunks(lines: Sequence[str], at: int, end: int) -> Iterator[Hunk]:
    while at < end:
        anchors, start = [], at
        while at < end and lines[at].startswith("@@"):
            anchors.append(_read_anchor(lines[at]))
            at += 1
        old: list[str] = []
        new: list[str] = []
        changed = False
        while at < end and not lines[at].startswith("@@") \
                and lines[at] != LAST:
            sign, text = lines[at][:1], lines[at][1:]
            if sign not in ("", " ", "+", "-"):
                raise _wrong(at + 1, "a line of a change begins with a "
                                     f'space, + or -, not "{sign}"')
            if sign != "+":
                old.append(text)
            if sign != "-":
                new.append(text)
            changed = changed or sign in ("+", "-")
            at += 1
        at_end = at < end and lines[at] == LAST
        at += at_end
        if not changed:
            raise _wrong(start + 1, "nothing is added or removed here")
        yield Hunk(start + 1, tuple(filter(None, anchors)), tuple(old),
                   tuple(new), at_end)


def _read_anchor(line: str) -> str:
    """What stands behind @@; the numbers of a unified diff say nothing."""
    text = line[2:].strip()
    if text.startswith("-") and "@@" in text:
        text = text.partition("@@")[2].strip()
    return text


def apply_hunks(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text of the file with these changes, in their order. Raises
    UsageError where one fits nowhere, or at more than one place."""
    end = "\r\n" if "\r\n" in text and "\n" not in text.replace(
        "\r\n", "") else "\n"
    lines = text.split(end)
    closed = lines[-1] == ""  # and so is a file that was empty
    if closed:
        lines.pop()
    done: list[str] = []
    for hunk in hunks:
        at = _find(path, lines, hunk)
        done += [*lines[:at], *hunk.new]
        lines = lines[at + len(hunk.old):]
    done += lines
    return end.join(done) + (end if closed and done else "")


def _find(path: str, lines: Sequence[str], hunk: Hunk) -> int:
    """Where the old lines begin."""
    start = 0
    for anchor in hunk.anchors:
        found = [n for n in range(start, len(lines))
                 if lines[n].strip() == anchor] or [
                 n for n in range(start, len(lines)) if anchor in lines[n]]
        if not found:
            raise _misfit(path, hunk, f'no line "{anchor[:80]}" is there '
                                      "(below the change before it)")
        start = found[0] + 1
    old = list(hunk.old)
    if hunk.at_end:
        start = max(start, len(lines) - len(old))
    if not old:
        if hunk.anchors and not hunk.at_end:
            return start
        if lines and not hunk.at_end:
            raise _misfit(path, hunk, "it only adds lines: say where, with "
                          f'a line of the file, "@@ LINE" or "{LAST}"')
        return len(lines)
    # The line of an anchor may be repeated as the first one.
    first = max(0, start - 1) if hunk.anchors else start
    places = [n for n in range(first, len(lines) - len(old) + 1)
              if lines[n] == old[0] and list(lines[n:n + len(old)]) == old]
    if not places:
        raise _misfit(path, hunk, "these lines are not there:\n"
                      + "\n".join(old[:5]))
    if len(places) > 1 and not hunk.anchors:
        raise _misfit(path, hunk, f"its lines are there {len(places)} times; "
                      'give more lines around it, or "@@ LINE" above it')
    return places[0]


def _misfit(path: str, hunk: Hunk, why: str) -> UsageError:
    return UsageError(f"{path}: the change at line {hunk.line} of the patch "
                      f"does not fit: {why}")


def _wrong(line: int, why: str) -> UsageError:
    return UsageError(f"line {line} of the patch: {why}")
