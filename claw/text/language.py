"""Which language a text is in, as far as script and small words tell.

Good for counting by language, not for choosing a model: a script that one
language mostly writes stands for it (Cyrillic is "ru", or "uk" where its own
letters are), and Latin letters are told by their small words. What they
don't tell is "latin".
"""

import re
import unicodedata
from collections import Counter

_CHARS = 1_000
_OF_SCRIPT = {
    "CJK": "zh", "HIRAGANA": "ja", "KATAKANA": "ja", "HANGUL": "ko",
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "HEBREW": "he",
    "DEVANAGARI": "hi", "BENGALI": "bn", "TAMIL": "ta", "TELUGU": "te",
    "THAI": "th", "LAO": "lo", "KHMER": "km", "MYANMAR": "my",
    "GEORGIAN": "ka", "ARMENIAN": "hy", "ETHIOPIC": "am"}
# Letters that only one of the languages of a script writes.
_OWN_LETTERS = {"ru": ("uk", "іїєґ"), "ar": ("fa", "پچژگ")}
# Words that are frequent in one language and rare in the others.
_SMALL_WORDS = {
    "en": "the and is are was were i my you your he she it this that with for"
          " from have has had not what don likes",
    "de": "der die das und ist sind war ich mein meine wir nicht ein eine mit"
          " von auf für zu dem den hat im am",
    "es": "el los las y es son era yo mi no una con por para del que está se"
          " tengo en",
    "fr": "le les et est sont était je mon ma ne pas une des avec pour dans"
          " que du au",
    "it": "il gli e è sono era io mio mia non una con per di che nel della ho",
    "pt": "o os e é são era eu meu minha não uma com por para do da que em"
          " tenho",
    "nl": "de het en is zijn was ik mijn niet een met van op voor dat heeft",
    "tr": "ve bir bu ben benim değil için ile çok var yok da de mi saat gün"
          " günü",
    "pl": "i jest są był ja mój moja nie z na do w że się ma",
    "sv": "och är var jag min mitt inte en ett med på för att som har",
    "id": "dan adalah saya tidak yang di ke dari untuk dengan ini itu ada",
    "vi": "và là tôi của không có một với cho này được"}
_words = re.compile(r"[^\W\d_]+")
_TOLD_BY = {word: [language for language, found in _SMALL_WORDS.items()
                   if word in found.split()]
            for found in _SMALL_WORDS.values() for word in found.split()}


def find_language(text: str) -> str:
    """A language as ISO 639-1 has it; "latin" or the name of a script where
    it can't be told, "none" for a text without letters."""
    text = text[:_CHARS]
    if text.isascii():
        letters = Counter({"LATIN": sum(map(str.isalpha, text))})
    else:
        letters = Counter(
            unicodedata.name(letter, "none").partition(" ")[0]
            for letter in text if letter.isalpha())
    if not letters.total():
        return "none"
    # Japanese is written in kana among Han.
    kana = letters["HIRAGANA"] + letters["KATAKANA"]
    if kana and kana * 10 >= letters["CJK"]:
        letters["HIRAGANA"] += letters.pop("CJK", 0)
    script = letters.most_common(1)[0][0]
    if script == "LATIN":
        return _find_latin(text)
    language = _OF_SCRIPT.get(script, script.lower())
    other, own = _OWN_LETTERS.get(language, ("", ""))
    return language if set(own).isdisjoint(text.lower()) else other


def _find_latin(text: str) -> str:
    votes: Counter[str] = Counter()
    for word in _words.findall(text.lower()):
        languages = _TOLD_BY.get(word, ())
        for language in languages:
            votes[language] += 12 // len(languages)
    return votes.most_common(1)[0][0] if votes else "latin"
