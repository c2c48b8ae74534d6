"""Other forms of an English word that stemming does not bring together.

Asked for beside the word itself, so an index knows nothing of them:
British and American spelling, short forms, words written in one or in two,
and forms that belong to two words.
"""

from collections.abc import Iterator

# Each line is one word. "wi+fi" is two words in this order. The stem of
# "lives" is that of "life" and that of "leaves" is "leaf"; here they are
# verbs too, and stand first, so that they are no plural of the other form.
_GROUPS = """
backup back+up
birthday birth+day
center centre
defense defence
email mail
favor favour
gray grey
leaves leave
license licence
liter litre
lives live
meter metre
online on+line
phone telephone
photo photograph
program programme
setup set+up
theater theatre
wifi wi+fi
"""


def _read(groups: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in groups.strip().split("\n"):
        forms = [form.replace("+", " ") for form in line.split()]
        for form in forms:
            others = tuple(other for other in forms if other != form)
            for word in (form, form + "s"):
                if " " not in word:
                    found.setdefault(word, others)
    return found


_known = _read(_GROUPS)
_OUR_ENDINGS = ("", "s", "ed", "ing", "ite", "ites", "able", "al", "ful")
_ISE_ENDINGS = ("e", "es", "ed", "ing", "ation")


def variants(word: str) -> tuple[str, ...]:
    """The other forms of a folded word; those that no one writes find
    nothing. Empty for what is not English."""
    if not word.isascii() or not word.isalpha():
        return ()
    return _known.get(word) or tuple(dict.fromkeys(_built(word)))


def _built(word: str) -> Iterator[str]:
    # Plain comparisons: to compile patterns costs half a millisecond.
    for one, other in (("our", "or"), ("or", "our")):
        yield from _swap(word, one, other, _OUR_ENDINGS)
    for one, other in (("is", "iz"), ("iz", "is")):
        yield from _swap(word, one, other, _ISE_ENDINGS)
    # allergies, allergy, allergic; deployments, deploy
    for ending, left in (("ies", "ic"), ("y", "ic"), ("ic", "y"),
                         ("ments", ""), ("ment", "")):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            yield word.removesuffix(ending) + left


def _swap(word: str, one: str, other: str,
             endings: tuple[str, ...]) -> Iterator[str]:
    for ending in endings:
        whole = one + ending
        if word.endswith(whole) and len(word) >= len(whole) + 2:
            yield word.removesuffix(whole) + other + ending
            return
