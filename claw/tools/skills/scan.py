"""What a person should know of a skill before saying yes. Pure.

A scan proves nothing: instructions can be harmful in plain words. It shows
what is meant not to be seen, and what is dangerous wherever it stands. What
`forbids` keeps a skill from being accepted at all.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Iterator
from itertools import islice
from urllib.parse import unquote

from claw.core.value import Value
from claw.security.visible import visible
from claw.tools.skills.folder import Files
from claw.tools.skills.manifest import SKILL_MD, SKILL_TOML

TEXT_BYTES = 512 << 10
_EXCERPT = 120
_MOST = 40  # findings of a kind

_TEXTS = (".md", ".markdown", ".txt", ".toml")
_SHELLS = (".sh", ".bash", ".zsh", ".ksh", ".fish", ".ps1", ".bat", ".cmd")
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe",
             b"\xce\xfa\xed\xfe")
# Direction of text, tags and their like: nothing that writing needs.
_HIDING = frozenset(map(chr, (
    0x200B, 0x2060, 0xFEFF, 0x180E, *range(0x202A, 0x202F),
    *range(0x2061, 0x2070), *range(0xE0000, 0xE0080),
    *range(0xE0100, 0xE01F0))))
_FETCH = r"\b(?:curl|wget|fetch|iwr|invoke-webrequest)\b"
_SHELL = r"(?:(?:ba|z|k|da|fi)?sh|python[\d.]{0,5}|node|perl|ruby)\b"
_RISKS: tuple[tuple[str, str], ...] = (
    ("download-and-run", rf"{_FETCH}[^\n]{{0,300}}\|\s{{0,20}}"
                         rf"(?:sudo\s{{1,9}})?(?:env\s{{1,9}})?(?:[\w./-]{{0,60}}/)?{_SHELL}"),
    ("download-and-run", rf"\b{_SHELL}\s{{1,9}}(?:-c\s{{1,9}})?[\"']?"
                         rf"(?:<\(|\$\(|`)\s{{0,9}}{_FETCH}"),
    ("download-and-run", r"\b(?:iex|invoke-expression)\b|eval\s{1,9}[\"']?\$\("
                         r"\s{0,9}(?:curl|wget)"),
    ("download-and-run", r"base64\s{1,9}(?:-d|-D|--decode)[^\n]{0,300}\|"
                         r"\s{0,20}(?:ba|z)?sh"),
    ("destroys", r"\brm\s{1,9}-(?:rf|fr|r\s-f|f\s-r)\s{1,9}(?:--\s)?"
                 r"(?:/|~|\$HOME)(?:\s|\*|$)"),
    ("destroys", r"\bdd\s[^\n]{0,300}\bof=/dev/|\bmkfs(?:\.\w+)?\s|"
                 r":\(\)\s*\{"),
    ("opens-a-door", r"\b(?:nc|ncat|netcat)\b[^\n]{0,300}\s-\w{0,9}[ec]\b|"
                     r"/dev/tcp/"),
    ("reads-keys", r"\.ssh/|\bid_(?:rsa|ed25519)\b|\.aws/|\.netrc\b|"
                   r"\.gnupg\b|\.secret_key\b"),
    ("speaks-to-the-model", r"(?i)ignore (?:all |any )?(?:previous|prior|"
                            r"above) instructions|do not (?:tell|mention|"
                            r"show)[^\n]{0,40}\b(?:user|owner)"),
    ("forges-a-frame", r"(?i)</?(?:available_skills|system|tool_call|"
                       r"tool_result|functions|function_calls|invoke|"
                       r"instructions)\b[^>\n]{0,80}>"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _RISKS)
_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"\[[^\[\]\n]{0,200}\]\(\s{0,9}<?([^)\s>]{1,500})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INSTALL = re.compile(r'"(?:pre|post)?install"\s{0,9}:|"prepare"\s{0,9}:|'
                      r"\bcmdclass\b")
_CHAINED = re.compile(r"(?m)^[ \t]{0,20}command[ \t]{0,9}=.{0,2000}"
                      r"(?:&&|\|\||;|`|\$\(|\\n)")


class Finding(Value):
    """One remark on a file. `excerpt` has nothing invisible in it."""

    kind: str
    file: str
    line: int = 0
    excerpt: str = ""
    forbids: bool = False

    def render(self) -> str:
        where = f"{visible(self.file)}:{self.line}" if self.line \
            else visible(self.file)
        return f"{self.kind}: {where}" + (
            f": {self.excerpt}" if self.excerpt else "")


def scan(files: Files, name: str = "", taken: Collection[str] = ()
         ) -> list[Finding]:
    """What there is to remark. `taken` are names that it may not have."""
    found = [Finding("named-like-a-tool", name, forbids=True)] \
        if name in taken else []
    for path, data in files.items():
        found += _scan_file(path, data, files)
    return found


def _scan_file(path: str, data: bytes, files: Files) -> Iterator[Finding]:
    lowered = path.lower()
    if set(path) & _HIDING or any(
            unicodedata.category(char) in ("Cc", "Cs") for char in path):
        yield Finding("hidden-characters", path, forbids=True)
    if data.startswith(_PROGRAMS):
        yield Finding("machine-code", path)
        return
    is_text = lowered.endswith(_TEXTS)
    if is_text and len(data) > TEXT_BYTES:
        yield Finding("too-long", path, excerpt=f"{len(data) >> 10} KiB",
                      forbids=True)
        return
    if b"\0" in data[:8192] or len(data) > TEXT_BYTES:
        if path.startswith("scripts/"):
            yield Finding("not-a-text", path)
        return
    text = data.decode("utf-8-sig", errors="replace")
    if lowered.endswith(_SHELLS) or re.match(r"#!.*\b\w*sh\b", text):
        yield Finding("shell-script", path)
    yield from _find_hidden(path, text)
    for kind, pattern in _COMPILED:
        yield from _find_all(kind, path, text, pattern)
    if lowered.rpartition("/")[2] in ("package.json", "setup.py"):
        yield from _find_all("runs-at-install", path, text, _INSTALL)
    if path == SKILL_TOML:
        yield from _find_all("chained-command", path, text, _CHAINED,
                             forbids=True)
    if lowered.endswith((".md", ".markdown")):
        for match in islice(_COMMENT.finditer(text), _MOST):
            yield _note("hidden-comment", path, text, match.start(),
                        match[1])
        yield from _check_links(path, text, files)


def _find_hidden(path: str, text: str) -> Iterator[Finding]:
    """Characters that hide something. A joiner between two others is
    writing (emoji, Persian); those that turn or tag a text are not."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.isascii() and (hiding := set(line) & _HIDING):
            codes = ", ".join(sorted(f"U+{ord(c):04X}" for c in hiding)[:4])
            yield Finding("hidden-characters", path, number,
                          f"{codes} in: {_cut(line)}", forbids=True)
            return


def _find_all(kind: str, path: str, text: str, pattern: re.Pattern[str], *,
              forbids: bool = False) -> Iterator[Finding]:
    """The first matches; a line that goes on on the next is one."""
    joined = text.replace("\r\n", "\n").replace("\\\n", "\r\r")
    for match in islice(pattern.finditer(joined), _MOST):
        start = joined.rfind("\n", 0, match.start()) + 1
        line = joined[max(start, match.start() - 40):match.end()]
        before = joined[:match.start()]
        yield Finding(kind, path,
                      before.count("\n") + before.count("\r\r") + 1,
                      _cut(" ".join(line.split())), forbids)


def _check_links(path: str, text: str, files: Files) -> Iterator[Finding]:
    above = path.split("/")[:-1]
    for match in islice(_LINK.finditer(text), _MOST * 10):
        target = unquote(html.unescape(match[1])).partition("#")[0]
        if not target or _SCHEME.match(target):
            if target.lower().startswith(("javascript:", "data:", "file:")):
                yield _note("odd-link", path, text, match.start(), match[1])
            continue
        parts = [*above]
        for part in target.split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part == "..":
                parts = []
                break
            elif part not in ("", "."):
                parts.append(part)
        if target.startswith("/") or not parts:
            yield _note("leads-out", path, text, match.start(), match[1])
        elif path == SKILL_MD and "/".join(parts) not in files \
                and not any(name.startswith("/".join(parts) + "/")
                            for name in files):
            yield _note("missing-file", path, text, match.start(), match[1])


def _note(kind: str, path: str, text: str, at: int, shown: str) -> Finding:
    return Finding(kind, path, text.count("\n", 0, at) + 1,
                   _cut(" ".join(shown.split())))


def _cut(text: str) -> str:
    shown = visible(text[:_EXCERPT])
    return shown + " ..." if len(text) > _EXCERPT else shown
