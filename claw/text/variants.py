"""Other forms of an English word that stemming does not bring together.

Asked for beside the word itself, so an index knows nothing of them:
irregular verbs and plurals, British and American spelling, words written
in one or in two.
"""

from collections.abc import Iterator

# Each line is one word. "wi fi" is two words in this order.
_GROUPS = """
be was were been
begin began begun
break broke broken
bring brought
build built
buy bought
catch caught
child children
choose chose chosen
come came
do did done
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
email mail
fall fell fallen
favor favour
feel felt
fight fought
find found
fly flew flown
foot feet
forget forgot forgotten
get got gotten
give gave given
go went gone
gray grey
grow grew grown
hear heard
hold held
keep kept
know knew known
lead led
leave left
lend lent
lose lost
man men
mean meant
meet met
mouse mice
pay paid
phone telephone
photo photograph
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
sell sold
send sent
shake shook shaken
sing sang sung
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
swim swam swum
take took taken
teach taught
tell told
think thought
throw threw thrown
tooth teeth
understand understood
wake woke woken
wear wore worn
win won
wife wives
woman women
write wrote written
center centre
meter metre
theater theatre
liter litre
license licence
defense defence
program programme
wifi wi+fi
online on+line
backup back+up
setup set+up
birthday birth+day
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
        yield from _swapped(word, one, other, _OUR_ENDINGS)
    for one, other in (("is", "iz"), ("iz", "is")):
        yield from _swapped(word, one, other, _ISE_ENDINGS)
    # allergies, allergy, allergic; deployments, deploy
    for ending, left in (("ies", "ic"), ("y", "ic"), ("ic", "y"),
                         ("ments", ""), ("ment", "")):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            yield word.removesuffix(ending) + left


def _swapped(word: str, one: str, other: str,
             endings: tuple[str, ...]) -> Iterator[str]:
    for ending in endings:
        whole = one + ending
        if word.endswith(whole) and len(word) >= len(whole) + 2:
            yield word.removesuffix(whole) + other + ending
            return
