"""Words in pieces of a few letters, for languages without a stemmer of ours.

A word is found by its other forms and in its compounds since they share
pieces with it. A word between two marks is cut into fours, every second
one: "programm" is "_pro ogra ramm", all of them in "Programme". Arabic and
Hebrew words are short and change inside: threes, every one, after the
Arabic article. Letters of other alphabets are written as ASCII, one byte
each; two that become the same tell a little less, and no more.

English is told by its small words; English texts are held as stems alone. A
text without small words of any language is held both ways.
"""

import re
from collections.abc import Sequence

from claw.text.stem import strip_article
from claw.text.stopwords import STOP_WORDS

# Stands in the index before the pieces of a text, and at the edges of a word.
MARK = "_"
# So many pieces stand for a word on average.
PIECES = 2.5
_ASCII = "abcdefghijklmnopqrstuvwxyz0123456789"
# Without any small word so many words are no English sentence.
_SENTENCE = 5
# English small words that others write too (an, in, die, was ...).
_SHARED = """
a am an as at be d do don he her hers him i if in it let ll m me no nor on
once over s same so such t to too under up us ve was war will won can tell
show
"""
ENGLISH = STOP_WORDS - frozenset(_SHARED.split()) | {"to"}
# Small words of other languages that are none in English, folded.
_OTHERS = """
der die das und ist den dem des ein eine einer mit von zu zur zum auf fur wie
wurde werden nicht auch sich bei nach aus sind welche wer
le la les des du et est une un dans que qui pour par sur au aux avec ce cette
el los las del y en es con por para una se su lo como mas fue al
il di che per gli della dei nel nella sono anche non da
os um uma do da dos das na nos com mais foi sao ao pelo em
van het een zijn voor met niet wordt ook door naar bij uit deze
och att det som av pa ar till inte den ett om har med sig fran var
og er til af ikke blev ved
on ei ja se etta oli joka myos mutta kun han ovat
w z na sie nie jest ze od przez jako ktory byl roku
je v ze si pro jsou byl jako podle
az es hogy egy nem volt meg csak ezt
si ale cu este din pe care nu sunt fost mai cele unde intr
bir ve bu icin ile olan olarak da de ne kac gibi daha hangi
yang dan di ini itu dengan untuk dari pada dalam adalah tidak oleh
la cua co duoc trong nhung cac mot voi cho khong nguoi
"""
OTHERS = frozenset(_OTHERS.split()) - ENGLISH - STOP_WORDS | {"die", "war"}
_MARKED = "[\u00c0-\u024f\u1e00-\u1eff]"
# Letters of Vietnamese, where a mark makes another word.
_TONES = "[ơưƠƯạ-ỹẠ-Ỹ]"


def cut_word(word: str, *, is_whole: bool = True) -> tuple[str, ...]:
    """The pieces of a folded word; without `is_whole` it is only the
    beginning of one."""
    is_semitic = "\u0590" <= word[0] < "\u0800"
    size, step = (3, 1) if is_semitic else (4, 2)
    if is_semitic:
        word = strip_article(word)
    plain = word if word.isascii() else "".join(
        letter if letter.isascii() else _ASCII[ord(letter) % 36]
        for letter in word)
    plain = MARK + plain + MARK * is_whole
    return tuple(dict.fromkeys(
        plain[at:at + size]
        for at in range(0, max(1, len(plain) - size + 1), step)))


def find_language(text: str, tokens: Sequence[str]) -> tuple[bool, bool]:
    """Whether the Latin words of a text are held as stems, and whether in
    pieces; `tokens` are its words, folded."""
    english = len(ENGLISH.intersection(tokens))
    others = len(OTHERS.intersection(tokens))
    if not text.isascii() and re.search(_MARKED, text):
        others += 1
    if english >= others and english:
        return True, False
    is_unsure = others <= 1 and sum(
        token < "\u0370" and token.isalpha() for token in tokens) >= _SENTENCE
    return others <= english or is_unsure, others > english or is_unsure


def has_tones(text: str) -> bool:
    """Whether a text is Vietnamese: its marks tell words apart, so that
    they are kept beside what is folded."""
    return not text.isascii() and re.search(_TONES, text) is not None
