"""What a message asks for, by its form. Pure.

Only plain phrases count, in English, Korean, Chinese and Japanese; anything
else is a question (kind "ask"). Nothing is guessed.
"""

import hashlib
import re
import unicodedata
from typing import Literal, TypeAlias

from claw.core.value import Value

Kind: TypeAlias = Literal["ask", "remember", "know", "forget", "time",
                          "greeting", "count", "empty"]
Language: TypeAlias = Literal["en", "ko", "zh", "zh-hant", "ja"]

KEY_CHARS = 60
_TOKEN = re.compile("(?=.*[0-9])(?=.*[a-z])[a-z0-9_]{16,}")
_END = r"[\s.!?。!?~…]*\Z"


class Intent(Value):
    """`subject` is what to remember, look up, forget, or count ("lines",
    "words", "characters", "bytes")."""

    kind: Kind
    subject: str = ""
    language: Language = "en"


class _Patterns:
    """Phrases, compiled when a text of their script comes: all at once
    they cost 10 ms. A phrase of another script can't match plain ASCII."""

    def __init__(self, *texts: str) -> None:
        self._texts = texts

    def match(self, text: str) -> re.Match[str] | None:
        """The first phrase that the text begins with."""
        plain = text.isascii()
        for phrase in self._texts:
            if plain and not phrase.removesuffix(_END).isascii():
                continue
            if found := re.compile(phrase, re.I | re.S).match(text):
                return found
        return None


_KNOW = _Patterns(
    r"(?:please\s+)?(?:tell\s+me\s+)?what\s+(?:do\s+|did\s+|can\s+)?you\s+"
    r"(?:know|remember|recall)(?:\s+(?:about|of|on))\s+(.+?)" + _END,
    r"(?:do|did)\s+you\s+(?:still\s+)?(?:know|remember|recall)\s+"
    r"(?:anything\s+about\s+|something\s+about\s+|about\s+)?(.+?)" + _END,
    r"what\s+(?:do\s+)?you\s+(?:know|remember)()" + _END,
    r"remember\s+(?!that\b|to\b)(.+?)\s*[?\uff1f]" + _END,
    r"(?:내가\s*|너\s*|네가\s*)?(.+?)\s*에\s*(?:대해서?|대하여|관해서?|관하여)"
    r"\s*(?:뭘|뭐를?|무엇을|무엇|아는\s*(?:것|게|거)|기억하는\s*(?:것|게|거))?"
    r".*(?:알아|알고|알지|아니|아는|기억).*" + _END,
    r"(.+?)(?:을|를|은|는)?\s*(?:기억해|기억하니|기억나|기억하고\s*있어|"
    r"기억해요|기억하세요|기억합니까)\s*\?" + _END,
    r"(?:关于|關於)(.+?)[,,、\s]*(?:你|您)?(?:还|還|都)?"
    r"(?:知道|记得|記得|了解|瞭解).*" + _END,
    r"(?:你|您)(?:对|對)(?:于|於)?(.+?)(?:还|還|都)?"
    r"(?:知道|记得|記得|了解|瞭解|有什么印象|有什麼印象).*" + _END,
    r"(?:你|您)(?:还|還|都)?(?:知道|记得|記得|了解|瞭解)(?:些|一些|哪些)?"
    r"(?:什么|什麼)?(?:关于|關於)(.+?)(?:的)?(?:什么|什麼|事情|事|信息|資訊|"
    r"内容|內容|吗|嗎|么|麼)*" + _END,
    r"(?:你|您)(?:还|還)?(?:记得|記得|知道)(.+?)(?:吗|嗎|么|麼|呢)" + _END,
    r"(.+?)(?:について|に関して|に関する|のこと(?:を|は)?)(?:、|は|を|で)?"
    r"\s*(?:何|なに|なん)?(?:を|か|が)?\s*(?:知って|覚えて|記憶して|ご存知)"
    r"(?!おいて|ください).*" + _END,
    r"(.+?)(?:を|は|のこと)?(?:覚えて|記憶して)(?:い)?(?:る|ます)(?:か)?"
    r"[??]" + _END,
)
_REMEMBER = _Patterns(
    r"(?:please\s+)?(?:remember|memori[sz]e|keep\s+in\s+mind|"
    r"(?:don'?t|do\s+not|never)\s+forget)"
    r"(?:\s*[:,]\s*|\s+)(?:that\s+)?(.+)\Z",
    r"(?:please\s+)?(?:take\s+a\s+note|make\s+a\s+note|note)(?:\s*[:,]\s*|"
    r"\s+that\s+)(.+)\Z",
    r"(?:꼭\s*)?기억해\s*(?:줘|둬|주세요|두세요)?\s*[:,]?\s+(.+)\Z",
    r"(.+?)(?:라는|이라는)\s*+(?:것|거|점|사실)?(?:을|를|걸)?\s*(?:꼭\s*)?"
    r"기억해\s*(?:줘|둬|놔|주세요|두세요)?" + _END,
    r"(.+?다)는\s*+(?:것|거|점|사실)?(?:을|를|걸)?\s*(?:꼭\s*)?"
    r"기억해\s*(?:줘|둬|놔|주세요|두세요)?" + _END,
    r"(.+?)(?:이라고|라고)\s*(?:꼭\s*)?기억해\s*(?:줘|둬|놔|주세요|두세요)?"
    + _END,
    r"(.+?다)고\s*(?:꼭\s*)?기억해\s*(?:줘|둬|놔|주세요|두세요)?" + _END,
    r"(.+?)(?:이라고|라고|을|를|,)?(?<!\s)\s*(?:꼭\s*)?"
    r"기억해\s*(?:줘|둬|놔|주세요|두세요)" + _END,
    r"(?:请|請|麻烦|麻煩)?\s*(?:帮我|幫我|你|您)?(?:要)?"
    r"(?:记住|記住|记下|記下|记得|記得|别忘了|別忘了)(?:了)?[,:,:、\s]*(.+)\Z",
    r"(?:覚えて|記憶して)(?:おいて)?(?:ください|くれ|ね)?[、,:。\s]+(.+)\Z",
    r"(.+?)(?:ということを|ということ|ことを|と|を|って)?、?"
    r"(?:覚えて|記憶して)(?:おいて)?(?:ください|くれ|ね)?" + _END,
)
_FORGET = _Patterns(
    r"(?:please\s+)?forget\s+(?:about\s+|the\s+memory\s+)?(.+?)" + _END,
    r"(.+?)(?:라는\s*(?:것|거)(?:을|를)?|에\s*대한\s*(?:것|기억)(?:을|를)?|"
    r"에\s*대해서?|은|는|을|를)?\s*잊어\s*(?:줘|버려|주세요)?" + _END,
    r"(?:请|請)?(?:你|您)?(?:忘记|忘記|忘掉|忘了)(?:关于|關於)?(.+?)"
    r"(?:的事情?|吧)?" + _END,
    r"(.+?)(?:ということ|について|のこと|こと)?(?:を|は)?忘れて"
    r"(?:ください|くれ|ね)?" + _END,
)
_TIME = _Patterns(
    r"(?:please\s+)?(?:tell\s+me\s+)?(?:(?:what(?:'s|\s+is)?\s+)?(?:the\s+)?"
    r"(?:current\s+|today'?s\s+)?(?:time|date)(?:\s+and\s+(?:time|date))?"
    r"(?:\s+(?:is\s+it|now|today|is\s+it\s+now|right\s+now))?|"
    r"what\s+(?:time|day|date|year|month|weekday)(?:\s+of\s+the\s+week)?"
    r"\s+(?:is\s+it|is\s+today|is\s+this|do\s+we\s+have)"
    r"(?:\s+(?:today|now|right\s+now))?|what(?:'s|\s+is)\s+today)" + _END,
    r"(?:지금|현재|오늘)?\s*(?:은|는|이|의)?\s*(?:몇\s*시|시간|시각|날짜|며칠|"
    r"몇\s*일|몇\s*월\s*며칠|무슨\s*요일|요일)(?:이|은|는)?\s*(?:뭐|몇\s*시)?"
    r"(?:이?야|이?에요|예요|이지|지|인가요|입니까|이니|니|알려\s*줘|말해\s*줘)?"
    + _END,
    r"(?:请问|請問)?(?:现在|現在|今天|当前|當前)?(?:是|的)?(?:几点钟?|幾點鐘?|"
    r"时间|時間|几号|幾號|几月几[号日]|幾月幾[號日]|星期几|星期幾|周几|週幾|"
    r"礼拜几|禮拜幾|日期|什么时间|什麼時間|什么时候|什麼時候|什么日子|什麼日子)"
    r"(?:了|呢|是多少|是什么|是什麼)?" + _END,
    r"(?:今|現在|今日|本日)(?:は|の)?(?:何時|時刻|時間|日付|何日|何月何日|"
    r"何曜日|曜日)(?:は)?(?:何?です|なの|だい)?(?:か|ですか)?" + _END,
)
_GREETING = _Patterns(
    r"(?:hi|hello|hey|hiya|howdy|good\s+(?:morning|afternoon|evening|day)|"
    r"greetings)(?:\s+(?:there|claw))?" + _END,
    r"(?:안녕(?:하세요|하십니까)?|반가워요?|여보세요)" + _END,
    r"(?:你好|您好|哈喽|哈囉|嗨|早上好|早安|晚上好|晚安|大家好)(?:啊|呀)?"
    + _END,
    r"(?:こんにちは|こんばんは|おはよう(?:ございます)?|やあ|もしもし)" + _END,
)
_UNITS = (
    ("lines", r"lines?", r"줄|행|行"),
    ("words", r"words?", r"단어|单词|單詞|単語|词|詞"),
    ("characters", r"characters?|chars?|letters?",
     r"글자|문자|文字|字符|字元|字"),
    ("bytes", r"bytes?", r"바이트|字节|位元組|バイト"))
_COUNT = [(unit, _Patterns(
    rf"(?:how\s+many\s+(?:{words})(?:\s+(?:are\s+(?:there|in\s+(?:this|it|"
    rf"that|here|the\s+\w+))|is\s+(?:this|it|that)|does\s+(?:this|it|"
    rf"(?:the|this)\s+\w+)\s+have|in\s+(?:this|it|the)(?:\s+\w+)?))?"
    rf"(?:\s+in\s+(?:this|it|the)(?:\s+\w+)?)?|"
    rf"(?:please\s+)?count\s+(?:the\s+|all\s+)?(?:{words})|"
    rf"(?:the\s+)?number\s+of\s+(?:{words})){_END}",
    rf"(?:(?:총\s*)?몇\s*(?:{foreign})(?:야|이야|이에요|예요|인가요|입니까)?|"
    rf"(?:{foreign})\s*수(?:는|가)?(?:\s*몇.*)?|"
    rf"(?:一共|总共|總共)?(?:这|這|它)?(?:里|裡)?(?:有)?(?:多少|几|幾)(?:个|個)?"
    rf"(?:{foreign})|(?:{foreign})(?:数|數)(?:は|是多少)?|"
    rf"何(?:{foreign})(?:ある|あります|です)?(?:か)?){_END}"))
    for unit, words, foreign in _UNITS]

# Characters that only one of the two ways of writing Chinese has.
_TRADITIONAL = frozenset(
    "麼嗎們這個說記憶請為時間點幾關於對會實來過還沒無與學國語話"
    "樣讓問題開長東車見現電動書買賣號網頁裡後錄資訊誰變應該歡愛聽寫讀")


def read_intent(message: str) -> Intent:
    """The intent of a message, with the language to answer in."""
    text = unicodedata.normalize("NFKC", message).strip()
    language = detect_language(text)
    if not text:
        return Intent("empty", language=language)
    if len(text) <= 200:
        for kind, patterns in (("time", _TIME), ("greeting", _GREETING)):
            if patterns.match(text):
                return Intent(kind, language=language)  # type: ignore[arg-type]
        for unit, pattern in _COUNT:
            if pattern.match(text):
                return Intent("count", unit, language)
    return _about_memory(text, message.strip(), language) \
        or Intent("ask", text, language)


def _about_memory(text: str, raw: str, language: Language) -> Intent | None:
    if len(text) <= 500:
        subject = _subject(_KNOW, text)
        if subject is not None:
            return Intent("know", _trimmed(subject), language)
    if not text.endswith(("?", "?")):
        subject = _subject(_REMEMBER, raw)
        if subject:
            return Intent("remember", subject.strip(), language)
    if len(text) <= 500:
        subject = _subject(_FORGET, text)
        if subject:
            return Intent("forget", subject.strip(), language)
    return None


def _subject(patterns: _Patterns, text: str) -> str | None:
    match = patterns.match(text)
    return match[1] if match else None


def _trimmed(subject: str) -> str:
    """What to look up; the whole of memory for "me" and "everything"."""
    subject = subject.strip().strip("\"'“”「」『』").strip()
    everything = {"", "me", "myself", "everything", "anything", "all", "나",
                  "저", "모든 것", "我", "一切", "所有", "私", "僕", "全部"}
    return "*" if subject.lower() in everything else subject


def detect_language(text: str) -> Language:
    """Korean by Hangul, Japanese by kana, Chinese by Han characters."""
    if re.search("[가-힣ㄱ-ㆎ]", text):
        return "ko"
    if re.search("[ぁ-ゖァ-ヺ]", text):
        return "ja"
    if re.search("[㐀-鿿]", text):
        return "zh-hant" if _TRADITIONAL.intersection(text) else "zh"
    return "en"


def memory_key(content: str) -> str:
    """A key that says what a memory says: its words, joined with "_".

    The same content has the same key; where it is cut, or has a word that
    could be a token (and that nobody would know again in small letters), a
    few characters of its hash keep it apart from others.
    """
    folded = unicodedata.normalize("NFKC", content).casefold()
    words = re.findall(r"\w+", folded)
    plain = [word for word in words if not _TOKEN.fullmatch(word)]
    slug = "_".join(plain).strip("_")
    if slug and len(slug) <= KEY_CHARS and plain == words:
        return slug
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    return f"{slug[:KEY_CHARS - 9].rstrip('_')}_{digest[:8]}".lstrip("_")
