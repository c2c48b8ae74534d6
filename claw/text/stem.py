"""Words without their endings, and irregular forms made regular.

The algorithm is "Porter2", the English stemmer of the Snowball project
(snowballstem.org/algorithms/english/stemmer.html), written out here because
the package that ships it imports every language it knows: 15 ms for the two
words of a question. Before it, a table brings together what no rule does:
went and go, children and child. Words of other alphabets have no stemmer here:
where names are compared their first letters stand for them, and the index
holds their pieces (grams.py).
"""

import functools

_VOWELS = frozenset("aeiouy")
_DOUBLES = frozenset(("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt"))
_LI = frozenset("cdeghkmnrt")

# Letters that stand for a word of another alphabet. In Russian, Arabic and
# Hindi five find most forms of a word and few others.
_BEGINNING = 5
_ARTICLES = ("وال", "بال", "كال", "فال", "لل", "ال", "و", "ف")  # and, by ...
# Words that the rules would take apart wrongly, as Snowball lists them.
_WHOLE = {
    "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl",
    "ugly": "ugli", "early": "earli", "only": "onli", "singly": "singl",
    "sky": "sky", "news": "news", "howe": "howe", "atlas": "atlas",
    "cosmos": "cosmos", "bias": "bias", "andes": "andes",
}
_AFTER_PLURAL = frozenset((
    "inning", "outing", "canning", "herring", "earring", "proceed",
    "exceed", "succeed", "evening"))
_LONG_HEADS = ("gener", "commun", "arsen", "past", "univers", "later",
               "emerg", "organ", "inter")

_STEP_2 = (
    ("ization", "ize"), ("ational", "ate"), ("ousness", "ous"),
    ("iveness", "ive"), ("fulness", "ful"), ("tional", "tion"),
    ("lessli", "less"), ("biliti", "ble"), ("entli", "ent"),
    ("ation", "ate"), ("alism", "al"), ("aliti", "al"), ("fulli", "ful"),
    ("ousli", "ous"), ("iviti", "ive"), ("ogist", "og"), ("enci", "ence"),
    ("anci", "ance"), ("abli", "able"), ("izer", "ize"), ("ator", "ate"),
    ("alli", "al"), ("bli", "ble"))
_STEP_3 = (
    ("ational", "ate"), ("tional", "tion"), ("alize", "al"),
    ("icate", "ic"), ("iciti", "ic"), ("ical", "ic"), ("ness", ""),
    ("ful", ""))
_STEP_4 = ("ement", "ance", "ence", "able", "ible", "ment", "ant", "ent",
           "ism", "ate", "iti", "ous", "ive", "ize", "al", "er", "ic")

# Each line: the form that stays, and those that become it.
_IRREGULAR = """
be was were been
begin began begun
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
child children
choose chose chosen
come came
deal dealt
dig dug
do did done
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown flies
foot feet
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone
goose geese
grow grew grown
hang hung
hear heard
hide hid hidden
hold held
keep kept
knife knives
know knew known
lay laid
lead led
leaf leaves
learn learnt
leave left
lend lent
life lives
light lit
lose lost
make made
man men
mean meant
meet met
mouse mice
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
sew sewn
shake shook shaken
shoot shot
show shown
shrink shrank shrunk
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spend spent
spill spilt
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tooth teeth
understand understood
wake woke woken
wear wore worn
weep wept
wife wives
win won
wolf wolves
woman women
write wrote written
"""


def _read(table: str) -> dict[str, str]:
    return {form: base for line in table.split("\n")
            for base, *forms in [line.split() or [""]] for form in forms}


_regular = _read(_IRREGULAR)


def stem(word: str) -> str:
    """The stem of a folded word. Of a word in another alphabet its
    beginning stands for all its forms; what has no letters, or fewer than
    three, is its own."""
    if word.isascii() and not word.isalpha():
        return word  # ids would fill the cache
    return _stem_once(word)


@functools.lru_cache(maxsize=20_000)
def _stem_once(word: str) -> str:
    if len(word) < 3 or not word.isalpha():
        return word if word.isascii() else _begin(word)
    if not word.isascii():
        return _begin(word)
    word = _regular.get(word, word)
    return _WHOLE.get(word) or _stem(word)


def _begin(word: str) -> str:
    """The first letters of a word, without an Arabic article; a word of a
    script without spaces is its own."""
    if not "\u0370" <= word[0] < "\u0e00":  # Greek to Sinhala
        return word
    if "\u0600" <= word[0] <= "\u06ff":
        word = strip_article(word)
    return word[:_BEGINNING]


def strip_article(word: str) -> str:
    """An Arabic word without its article and what is written with it."""
    for article in _ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + 3:
            return word[len(article):]
    return word


def _stem(word: str) -> str:
    word = _mark_consonant_y(word)
    r1, r2 = _regions(word)
    word = _step_1a(word)
    if word not in _AFTER_PLURAL:
        word = _step_1c(_step_1b(word, r1))
        word = _step_2(word, r1)
        word = _step_3(word, r1, r2)
        word = _step_4(word, r2)
        word = _step_5(word, r1, r2)
    return word.replace("Y", "y")


def _mark_consonant_y(word: str) -> str:
    """An y at the start or after a vowel is a consonant: Y."""
    letters = list(word)
    for i, letter in enumerate(letters):
        if letter == "y" and (i == 0 or letters[i - 1] in _VOWELS):
            letters[i] = "Y"
    return "".join(letters)


def _regions(word: str) -> tuple[int, int]:
    """Where R1 and R2 begin: after the first consonant that follows a
    vowel, and the same again from there."""
    r1 = next((len(head) for head in _LONG_HEADS if word.startswith(head)),
              None)
    if r1 is None:
        r1 = _after_vowel_consonant(word, 0)
    return r1, _after_vowel_consonant(word, r1)


def _after_vowel_consonant(word: str, start: int) -> int:
    for i in range(start + 1, len(word)):
        if word[i] not in _VOWELS and word[i - 1] in _VOWELS:
            return i + 1
    return len(word)


def _step_1a(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith(("ied", "ies")):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith(("us", "ss")) or not word.endswith("s"):
        return word
    return word[:-1] if _has_vowel(word[:-2]) else word


def _step_1b(word: str, r1: int) -> str:
    for ending in ("eedly", "eed"):
        if word.endswith(ending):
            return (word[:-len(ending)] + "ee"
                    if len(word) - len(ending) >= r1 else word)
    for ending in ("ingly", "edly", "ing", "ed"):
        if word.endswith(ending):
            head = word[:-len(ending)]
            return (_restore(head, ending, r1) if _has_vowel(head)
                    else word)
    return word


def _restore(head: str, ending: str, r1: int) -> str:
    """What stands before -ed or -ing, made a word again."""
    if ending == "ing" and len(head) == 2 and head[1] == "y" \
            and head[0] not in _VOWELS:
        return head[0] + "ie"  # dying, lying
    if head.endswith(("at", "bl", "iz")):
        return head + "e"
    if head[-2:] in _DOUBLES:
        # add, egg, off
        return head if len(head) == 3 and head[0] in "aeo" else head[:-1]
    return head + "e" if len(head) <= r1 and _ends_short(head) else head


def _step_1c(word: str) -> str:
    return (word[:-1] + "i" if len(word) > 2 and word[-1] in "yY"
            and word[-2] not in _VOWELS else word)


def _step_2(word: str, r1: int) -> str:
    for ending, other in _STEP_2:
        if word.endswith(ending):
            head = word[:-len(ending)]
            return head + other if len(head) >= r1 else word
    if word.endswith("ogi"):
        return (word[:-1] if word[-4:-3] == "l" and len(word) - 3 >= r1
                else word)
    return (word[:-2] if word.endswith("li") and len(word) - 2 >= r1
            and word[-3:-2] in _LI else word)


def _step_3(word: str, r1: int, r2: int) -> str:
    for ending, other in _STEP_3:
        if word.endswith(ending):
            head = word[:-len(ending)]
            return head + other if len(head) >= r1 else word
    return (word[:-5] if word.endswith("ative") and len(word) - 5 >= r2
            else word)


def _step_4(word: str, r2: int) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            return (word[:-len(ending)] if len(word) - len(ending) >= r2
                    else word)
    return (word[:-3] if word.endswith(("sion", "tion"))
            and len(word) - 3 >= r2 else word)


def _step_5(word: str, r1: int, r2: int) -> str:
    if word.endswith("e"):
        head = word[:-1]
        if len(head) >= r2 or (len(head) >= r1 and not _ends_short(head)):
            return head
    elif word.endswith("ll") and len(word) - 1 >= r2:
        return word[:-1]
    return word


def _has_vowel(text: str) -> bool:
    return not _VOWELS.isdisjoint(text)


def _ends_short(word: str) -> bool:
    """Whether a word ends in a short syllable."""
    if word == "past":
        return True
    if len(word) == 2:
        return word[0] in _VOWELS and word[1] not in _VOWELS
    return (len(word) > 2 and word[-1] not in _VOWELS
            and word[-1] not in "wxY" and word[-2] in _VOWELS
            and word[-3] not in _VOWELS)
