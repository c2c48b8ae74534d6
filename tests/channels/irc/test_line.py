"""Lines: any bytes in, nothing but one command out."""

import pytest

from claw.channels.irc.line import (
    Line,
    fold,
    read_ctcp,
    read_line,
    strip_formats,
    write_ctcp,
    write_line,
)


@pytest.mark.parametrize(("raw", "line"), [
    (b"PING :a b", Line("PING", ("a b",))),
    (b"ping a", Line("PING", ("a",))),
    (b":al!u@h PRIVMSG #c :hi there",
     Line("PRIVMSG", ("#c", "hi there"), "al!u@h")),
    (b":al!u@h  PRIVMSG   #c  hi", Line("PRIVMSG", ("#c", "hi"), "al!u@h")),
    (b":s 005 me A=b C :are supported by this server",
     Line("005", ("me", "A=b", "C", "are supported by this server"), "s")),
    (b"@a=1;+b;c=x\\sy\\:\\\\\\n :al!u@h PRIVMSG #c ::)",
     Line("PRIVMSG", ("#c", ":)"), "al!u@h",
          {"a": "1", "+b": "", "c": "x y;\\\n"})),
    (b"@odd\\ :al TAGMSG #c", Line("TAGMSG", ("#c",), "al", {"odd\\": ""})),
    (b":al!u@h PRIVMSG #c :", Line("PRIVMSG", ("#c", ""), "al!u@h")),
    (b":al!u@h PRIVMSG #c :caf\xe9 \x80",
     Line("PRIVMSG", ("#c", "café €"), "al!u@h")),
    (b":al!u@h PRIVMSG #c :\x81\xff",
     Line("PRIVMSG", ("#c", "\x81ÿ"), "al!u@h")),
    (":al!u@h PRIVMSG #c :größ".encode() + b"\xf0\x9f\x98",
     Line("PRIVMSG", ("#c", "größ"), "al!u@h")),
    (":al!u@h PRIVMSG #a\xa0b\x1f x\u3000y".encode(),
     Line("PRIVMSG", ("#a\xa0b\x1f", "x\u3000y"), "al!u@h")),
    (b"", None), (b"   ", None), (b":only", None), (b"@a=b", None),
    (b"\0\0", None), (b":", None), (b"@", None),
])
def test_a_line_is_read(raw, line):
    assert read_line(raw) == line


@pytest.mark.parametrize(("words", "raw"), [
    (("JOIN", "#c", "key"), b"JOIN #c key\r\n"),
    (("PRIVMSG", "#c", "hi"), b"PRIVMSG #c :hi\r\n"),
    (("PRIVMSG", "#c", ":)"), b"PRIVMSG #c ::)\r\n"),
    (("PRIVMSG", "#c", ""), b"PRIVMSG #c :\r\n"),
    (("PASS", "two words"), b"PASS :two words\r\n"),
    (("PRIVMSG", "#c", "a\r\nQUIT :b\0\x01DCC"),
     b"PRIVMSG #c :aQUIT :bDCC\r\n"),
    (("PRIVMSG", "#c\r\nQUIT", "a"), b"PRIVMSG #cQUIT :a\r\n"),
    (("CAP", "END"), b"CAP END\r\n"),
])
def test_a_line_is_one_line_whatever_it_says(words, raw):
    assert write_line(*words) == raw


def test_a_tag_can_not_leave_its_place():
    assert write_line("TAGMSG", "#c", tags={"+t": "a; b\r\n\\"}) == (
        rb"@+t=a\:\sb\r\n\\ TAGMSG #c" + b"\r\n")


@pytest.mark.parametrize("target", ["", "a b", ":a", "\r\n"])
def test_a_parameter_in_the_middle_is_one_word(target):
    with pytest.raises(ValueError, match="parameter"):
        write_line("PRIVMSG", target, "hi")


def test_formats_are_not_read():
    assert strip_formats("\x02bold\x0f \x0304,12red\x03 \x1ditalic\x1d "
                         "\x04ff0000hex\x04 \x0312,not\x16\x1f\x1e\x11") == (
        "bold red italic hex ,not")


def test_a_tab_stays_a_gap():
    assert strip_formats("if x:\treturn") == "if x:    return"


def test_names_are_folded_as_the_server_does():
    assert fold("Al[\\]~", "rfc1459") == "al{|}^"
    assert fold("Al[\\]~", "rfc1459-strict") == "al{|}~"
    assert fold("Al[\\]~", "ascii") == "al[\\]~"
    assert fold("Al[\\]~", "unheard-of") == "al{|}^"


def test_ctcp_is_read_and_answered_on_one_line():
    assert read_ctcp("\x01ACTION waves\x01") == ("ACTION", "waves")
    assert read_ctcp("\x01version") == ("VERSION", "")
    assert read_ctcp("plain") is None
    assert write_ctcp("al", "PING", "1\r\nQUIT\x01") == (
        b"NOTICE al :\x01PING 1QUIT\x01\r\n")
