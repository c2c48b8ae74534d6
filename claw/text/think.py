"""Thoughts that a model writes into its answer, taken out of it. Pure.

A block goes where it opens the answer, and where it is closed outside of
code. A closing tag that nothing opened ends thoughts whose opening
stood in the prompt: all before it goes. A tag that is only mentioned (never
closed in mid-answer, or in code) stays. The analysis channel of
Harmony and the like of Kimi K3 are blocks; the marks of other channels go.
Source: chat templates of DeepSeek R1, Qwen 3, Magistral, Seed, gpt-oss,
MiniMax M3, Cohere Command, Gemma 4, Kimi K3.
"""

import re
from collections.abc import Iterable

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>",
         "<thought>": "</thought>", "<reasoning>": "</reasoning>",
         "<seed:think>": "</seed:think>", "[THINK]": "[/THINK]",
         "<mm:think>": "</mm:think>",
         "<|START_THINKING|>": "<|END_THINKING|>",
         "<|channel>thought": "<channel|>",
         "<|open|>think<|sep|>": "<|close|>think<|sep|>",
         "<|channel|>analysis<|message|>": "<|end|>"}
_ORPHANS = ("</think>", "</mm:think>", "<|close|>think<|sep|>")
_CHANNELS = ("<|start|>assistant", "<|channel|>final<|message|>",
             "<|channel|>commentary<|message|>", "<|open|>response<|sep|>")
_MARKS = (*_CHANNELS, "<|end|>", "<|return|>", "<|close|>response<|sep|>",
          "<|close|>message<|sep|>")
# Where a word of interest may begin.
_SIGNS = re.compile(r"[<\[`\n]")


def has_think_sign(text: str) -> bool:
    """Whether a tag of thoughts stands anywhere in a text."""
    return any(tag in text for tag in (*_ORPHANS, *_TAGS))


def strip_think(text: str, literals: Iterable[tuple[int, int]] = ()) -> str:
    """An answer without thoughts and without blank space before it. In
    `literals`, places as (start, end) in order, tags mean nothing."""
    think = ThinkFilter()
    at = 0
    for start, end in literals:
        think.feed(text[at:start])
        think.pass_literal(text[start:end])
        at = end
    think.feed(text[at:])
    think.finish()
    return think.answer


class ThinkFilter:
    """Takes thoughts out of an answer that comes in pieces, cut anywhere.

    What `feed` and `finish` give may be shown; nothing is held back but
    what may still be the start of a tag, and what stands behind one in
    mid-answer that nothing has closed yet. `answer` is all of it, less
    what turned out to be thoughts after it was shown.
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._shown: list[str] = []
        self._begun = self._harmony = False
        self._close = ""        # what ends the block that we are in
        self._block: list[str] | None = None  # one that may be a mention
        self._code = _Code()

    @property
    def answer(self) -> str:
        return "".join(self._shown)

    def feed(self, delta: str) -> str:
        """What `delta` makes visible."""
        if (self._begun and not self._waiting and not self._close
                and not _SIGNS.search(delta)):
            self._code.pass_text(delta)
            self._shown.append(delta)
            return delta  # most pieces
        return self._read(self._waiting + delta, final=False)

    def pass_literal(self, text: str) -> str:
        """What a text in which tags mean nothing makes visible."""
        waiting, self._waiting = self._waiting, ""
        return self._pass(waiting + text)

    def finish(self) -> str:
        """What was held back, now that no more comes."""
        out = self._read(self._waiting, final=True)
        if self._block is not None:  # never closed: a mention
            held, self._block, self._close = "".join(self._block), None, ""
            out += self._show(held)
        return out

    def _read(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        at = 0
        while at < len(text):
            tags = self._tags()
            found = _find(text, at, tags)
            end = len(text) if found is None else found[0]
            if found is None and not final:
                end -= count_held_back(text, at, tags)
            if end > at:
                out.append(self._pass(text[at:end]))
                if found is not None and self._tags() != tags:
                    at = end  # the answer has begun with this text
                    continue
            at = end
            if found is None:
                break
            at += len(found[1])
            self._take(found[1], out)
        self._waiting = text[at:]
        return "".join(out)

    def _tags(self) -> tuple[str, ...]:
        if self._close:
            return (self._close,)
        marks = _MARKS if self._harmony else \
            () if self._begun else _CHANNELS
        return (*_TAGS, *_ORPHANS, *marks)

    def _pass(self, text: str) -> str:
        """Text between tags."""
        if self._block is not None:
            self._block.append(text)
            return ""
        return "" if self._close else self._show(text)

    def _take(self, tag: str, out: list[str]) -> None:
        """A tag, outside of code or not."""
        if self._close:
            if self._block is None or not self._block[-1].endswith("`"):
                self._close, self._block = "", None
            else:
                self._block.append(tag)
        elif self._code.is_inside:
            out.append(self._show(tag))
        elif tag in _TAGS:
            self._close = _TAGS[tag]
            self._harmony |= tag.startswith("<|")
            if self._begun:
                self._block = [tag]
        elif tag in _ORPHANS:
            self._shown.clear()
            self._begun = False
            self._code = _Code()
        else:
            self._harmony = True

    def _show(self, text: str) -> str:
        if not self._begun:
            text = text.lstrip()
            self._begun = bool(text)
        self._code.feed(text)
        self._shown.append(text)
        return text


class _Code:
    """Whether a text so far ends inside of code: a fence, or marks of code
    on this line that are still open."""

    def __init__(self) -> None:
        self._run = 0       # backticks at the very end
        self._inline = 0    # length of the mark that is open on this line
        self._fence = 0
        self._blank = True  # nothing but blanks on this line so far

    def feed(self, text: str) -> None:
        for piece in re.split(r"(`+|\n)", text) if "`" in text \
                or "\n" in text else (text,):
            if piece.startswith("`"):
                self._run += len(piece)
            elif piece == "\n":
                self._settle()
                self._inline, self._blank = 0, True
            else:
                self.pass_text(piece)

    def pass_text(self, text: str) -> None:
        """Text without a mark and on one line."""
        if text:
            self._settle()
            self._blank = self._blank and not text.strip()

    @property
    def is_inside(self) -> bool:
        self._settle()
        return bool(self._fence or self._inline)

    def _settle(self) -> None:
        run, self._run = self._run, 0
        if not run:
            return
        if run >= 3 and self._blank and (not self._fence
                                         or run >= self._fence):
            self._fence = 0 if self._fence else run
        elif not self._fence:
            self._inline = 0 if self._inline == run else \
                self._inline or run
        self._blank = False


def _find(text: str, at: int, tags: tuple[str, ...]
          ) -> tuple[int, str] | None:
    """The first of the tags, and where it begins."""
    if len(tags) == 1:
        found = text.find(tags[0], at)
        return None if found < 0 else (found, tags[0])
    if not _SIGNS.search(text, at):
        return None
    match = _compile(tags).search(text, at)
    return None if match is None else (match.start(), match[0])


_compiled: dict[tuple[str, ...], "re.Pattern[str]"] = {}


def _compile(tags: tuple[str, ...]) -> "re.Pattern[str]":
    if tags not in _compiled:
        _compiled[tags] = re.compile("|".join(map(re.escape, tags)))
    return _compiled[tags]


def count_held_back(text: str, at: int, tags: tuple[str, ...]) -> int:
    """Length of the longest end of text[at:] that may start a tag."""
    longest = max(map(len, tags)) - 1
    firsts = {tag[0] for tag in tags}
    for start in range(max(at, len(text) - longest), len(text)):
        if text[start] in firsts and any(
                tag.startswith(text[start:]) for tag in tags):
            return len(text) - start
    return 0
