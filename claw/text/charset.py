"""The text of a page by its mark, its header, its own word, or a look at
its letters. Pure.

Names of charsets mean what browsers take them for ("shift_jis" is Windows's
variant); only known ones are looked up, since a page may name any codec.
Source: the Encoding standard, "Names and labels", read 2026-11.
"""

import codecs
import re

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))
_KNOWN = re.compile(
    r"utf-?8|utf-?16(?:le|be)?|iso-8859-\d{1,2}|windows-\d{3,4}|koi8-[ru]|"
    r"big5(?:-hkscs)?|gb18030|euc-jp|iso-2022-(?:jp|kr)|tis-620|"
    r"mac-cyrillic")
_WIDER = {
    "us-ascii": "cp1252", "ascii": "cp1252", "iso-8859-1": "cp1252",
    "latin1": "cp1252", "iso8859-1": "cp1252", "iso-8859-9": "cp1254",
    "shift_jis": "cp932", "shift-jis": "cp932", "sjis": "cp932",
    "x-sjis": "cp932", "windows-31j": "cp932", "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949", "ksc5601": "cp949", "gb2312": "gb18030",
    "gbk": "gb18030", "x-gbk": "gb18030"}
_META = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([\w-]{2,20})",
                   re.IGNORECASE)
_HEAD_BYTES = 2048
_LOOK_BYTES = 32 * 1024
# Which letters make up which share of what is not ASCII, in order.
_LETTERS = (("cp932", re.compile("[\u3041-\u30fe]"), 0.25),
            ("euc-jp", re.compile("[\u3041-\u30fe]"), 0.25),
            ("cp949", re.compile("[\uac00-\ud7a3]"), 0.6),
            ("windows-1251", re.compile(
                "[\u0430-\u044f\u0456\u0457](?=[\u0400-\u04ff])"), 0.6),
            ("gb18030", re.compile("[\u4e00-\u9fff\u3002\uff0c]"), 0.8))
_FOREIGN = re.compile("[^\0-\x7f]")


def decode_page(data: bytes, charset: str | None = None) -> str:
    """The text of a page whose header names this charset. What is no text
    in it comes out as U+FFFD."""
    found = find_charset(data, charset) or _guess(data)
    return data.decode(found, "replace")


def find_charset(data: bytes, charset: str | None = None, *,
                 is_page: bool = True) -> str | None:
    """The codec that a text, its header or (of a page) its own markup
    names; None where none of them names one that is known."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    meta = _META.search(data[:_HEAD_BYTES]) if is_page else None
    for said in (charset, meta[1].decode() if meta else None):
        name = (said or "").strip().lower()
        name = _WIDER.get(name, name)
        if name in _WIDER.values() or _KNOWN.fullmatch(name):
            try:
                return codecs.lookup(name).name
            except LookupError:  # windows-9999
                continue
    return None


def _guess(data: bytes) -> str:
    """UTF-8 where it is that, else by its letters, else what the west
    wrote before."""
    look = data[:_LOOK_BYTES]
    if _reads(look, "utf-8") is not None:
        return "utf-8"
    for name, letters, least in _LETTERS:
        text = _reads(look, name)
        foreign = len(_FOREIGN.findall(text or ""))
        if text and len(letters.findall(text)) >= least * foreign > 0:
            return name
    return "cp1252"


def _reads(data: bytes, name: str) -> str | None:
    """The text if it is one; half a character at the end is none."""
    try:
        return codecs.getincrementaldecoder(name)().decode(data)
    except UnicodeDecodeError:
        return None
