"""How claw looks on a terminal: every colour and every shape stands here.

Colours are the sixteen of the terminal's own theme, and none is laid
behind a text, so that both read well on light and on dark. What a colour
says a word or a shape says too. NO_COLOR takes the colours; bold, dim and
underlined text stays, as no-color.org has it. TERM=dumb takes both.
"""

# What a part of the screen is -> its attributes.
STYLES = {
    "ok": "green",
    "warn": "yellow",
    "fail": "bold red",
    "skip": "dim",
    "quiet": "dim",          # beside the content: keys, times, tools
    "match": "bold underline",
    "bar": "cyan",
    "added": "green",        # lines of a diff
    "removed": "red",
    "place": "cyan",         # its @@ lines
    "question": "",          # what is to be read before a yes
    # Markdown
    "h1": "bold underline",
    "h2": "bold",
    "h3": "bold italic",
    "strong": "bold",
    "em": "italic",
    "code": "cyan",
    "link": "underline",
    "address": "dim",
    "rule": "dim",
    "quote": "italic",
    "head": "bold",          # of a table
    "border": "dim",
    # code, by the kind of a token
    "comment": "dim italic",
    "keyword": "bold magenta",
    "string": "green",
    "number": "cyan",
    "name": "bold",          # that is defined here
}

# What questions of a wizard look like, by the parts that questionary names.
PROMPT_STYLE = (("qmark", "bold"), ("question", "bold"), ("answer", ""),
                ("pointer", "bold"), ("highlighted", "bold"),
                ("selected", "noreverse"), ("instruction", ""),
                ("text", ""))

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL", "skip": "skip"}
BAR, BAR_PARTS = "█", " ▏▎▍▌▋▊▉"
TOOL = "·"
CUT = "…"

# The widest that text for reading is set; tables take what there is.
READING_COLUMNS = 100

_ATTRIBUTES = {"bold": "1", "dim": "2", "italic": "3", "underline": "4"}
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "magenta": "35",
            "cyan": "36"}


def paint(text: str, style: str, *, colour: bool = True) -> str:
    """The text between the escapes of a style; without `colour` those of
    its other attributes alone."""
    codes = _ATTRIBUTES | _COLOURS if colour else _ATTRIBUTES
    found = ";".join(codes[word] for word in STYLES[style].split()
                     if word in codes)
    return f"\x1b[{found}m{text}\x1b[0m" if found and text else text
