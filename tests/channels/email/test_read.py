"""Payload to message: charsets, quotes, forwarded mails, files."""

import email
import email.policy
import time
from email.message import EmailMessage

import pytest

from claw.channels.email import contents
from claw.channels.email.decoding import decode_bytes, decode_header
from claw.channels.email.envelope import read_envelope
from claw.channels.email.quoting import find_command, read_html, read_plain
from claw.channels.email.structure import (
    choose_texts,
    list_files,
    read_bodystructure,
    read_part,
    read_whole,
    undo_encoding,
)


def raw(body, kind="text/plain; charset=utf-8", **headers):
    """A mail as it is on the wire, with a proof on top."""
    lines = ["Authentication-Results: fake.test;"
             " dkim=pass header.d=people.test",
             "From: alice@people.test", "To: agent@fake.test",
             *(f"{name.replace('_', '-')}: {value}"
               for name, value in headers.items()),
             "MIME-Version: 1.0", f"Content-Type: {kind}", "", ""]
    head = "\r\n".join(lines).encode()
    return head + (body if isinstance(body, bytes) else body.encode())


def hear(post, mail, *mails, **given):
    for one in mails:
        mail.deliver(one)
    return post.hears(len(mails), **given)


@pytest.mark.each(("data", "charset", "text"), [
    ("Grüße".encode(), "utf-8", "Grüße"),
    ("Grüße".encode("latin-1"), "iso-8859-1", "Grüße"),
    ("Grüße".encode("latin-1"), None, "Grüße"),
    ("Grüße".encode("latin-1"), "utf-8", "Grüße"),
    ("Grüße".encode(), "us-ascii", "Grüße"),
    ("Grüße".encode(), "iso-8859-1", "Grüße"),
    ("Grüße €".encode("cp1252"), "iso-8859-1", "Grüße €"),
    ("Grüße".encode(), "x-unknown", "Grüße"),
    ("Grüße".encode(), "\"utf8\"", "Grüße"),
    ("Привет".encode("koi8-r"), "koi8-r", "Привет"),
    ("Привет, как дела".encode("cp1251"), None, "Привет, как дела"),
    ("你好".encode("gb18030"), "gb2312", "你好"),
    ("你好".encode("big5"), "big5", "你好"),
    ("你好".encode("hz"), "hz-gb-2312", "你好"),
    ("こんにちは".encode("iso-2022-jp"), "ISO-2022-JP", "こんにちは"),
    ("こんにちは".encode("cp932"), "shift_jis", "こんにちは"),
    ("안녕".encode("cp949"), "ks_c_5601-1987", "안녕"),
    ("Grüße".encode("utf-7"), "utf-7", "Grüße"),
    ("Grüße".encode("utf-16"), "utf-16", "Grüße"),
    ("Grüße".encode("cp850"), "cp850", "Grüße"),
    (b"\\u0041 xn--a", "unicode_escape", "\\u0041 xn--a"),
    (b"abc", "zip", "abc"), (b"abc", "rot13", "abc"), (b"", "utf-8", ""),
    (b"a\r\nb\0c\x1b", None, "a\nbc"),
])
def test_a_text_is_read_whatever_its_charset_says(data, charset, text):
    assert decode_bytes(data, charset) == text


@pytest.mark.each(("value", "text"), [
    ("=?utf-8?q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
    ("=?UTF-8?B?R3LDvMOfZQ?=", "Grüße"),  # no padding
    ("=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=", "Grüße"),  # cut in a letter
    ("=?koi8-r?b?8NLJ18XU?= world", "Привет world"),
    ("a =?utf-8?q?b?= =?utf-8?q?c?= d", "a bc d"),
    ("=?utf-8?q?broken", "=?utf-8?q?broken"),
    ("=?x-none?q?a_b?=", "a b"),
    ("=?utf-8*en?q?a?=", "a"),
    (b"Gr\xc3\xbc\xc3\x9fe".decode("ascii", "surrogateescape"), "Grüße"),
    (b"Gr\xfc\xdfe".decode("ascii", "surrogateescape"), "Grüße"),
    ("a\r\n b", "a b"), ("", ""),
])
def test_a_header_is_read_whatever_it_is(value, text):
    assert decode_header(value) == text


@pytest.mark.each(("text", "own", "foreign"), [
    ("Yes.\n\nOn Mon, 1 May 2026, Bot <b@x>\nwrote:\n> hello\n>\n> you\n",
     "Yes.", "hello"),
    ("Ja\n\nAm 3.4.26 um 5:00 schrieb Bot:\n> Hallo", "Ja", "Hallo"),
    ("Oui\nLe lun. 1 mai, Bot <b@x> a écrit :\n\n> salut", "Oui", "salut"),
    ("ok\n\n-----Original Message-----\nFrom: x\nbuy", "ok", "buy"),
    ("ok\n\n________________________________\nFrom: x <y@z>\nSent: now\n"
     "To: q\nSubject: s\n\nbuy", "ok", "buy"),
    ("ok\n\nVon: x\nGesendet: heute\nAn: y\nBetreff: z\n\nkauf", "ok",
     "kauf"),
    ("> a?\nyes\n> b?\nno", "> a?\nyes\n> b?\nno", ""),
    ("ok\n\n____________________\nFrom: x <y@z>\nTo: q\n\nbuy", "ok", "buy"),
    ("book\nFrom: Paris\nTo: Rome\n\nplease", "book\nFrom: Paris\nTo: Rome"
     "\n\nplease", ""),
    ("a\n--------------------\nb", "a\n--------------------\nb", ""),
    ("> all of it", "", "all of it"),
    ("text\n-- \nJoe", "text", ""),
    ("I wrote: a > b", "I wrote: a > b", ""),
    ("", "", ""),
])
def test_a_quote_below_is_not_the_writers(text, own, foreign):
    words = read_plain(text)

    assert words.own == own
    assert foreign in words.foreign
    assert foreign not in words.own or not foreign


def test_html_is_read_in_lines_without_what_it_hides_or_quotes():
    words = read_html(
        "<html><head><style>p{}</style></head><body><p>Hi<br>there</p>\n"
        "<div style='display:none'>hidden</div><div>more</div>"
        '<div class="gmail_quote">On x, y wrote:<blockquote>old'
        "</blockquote></div>")

    assert words.own == "Hi\nthere\nmore"
    assert "old" in words.foreign
    assert words.label == "quoted"


@pytest.mark.each(("own", "command"), [
    ("/stop", "/stop"), ("/approve 7 yes\n\nSent from my phone",
                         "/approve 7 yes"),
    ("> is it ok? /deny\n\n/approve 7", "/approve 7"),
    ("On Monday, Bot wrote:\n> x\n\n/new", "/new"),
    ("/reply 7 two\nlines", "/reply 7 two\nlines"),
    ("please /stop", None), ("", None),
    ("> Answer: yes k7m3p or no k7m3p\n\nja k7m3p\n\nMina", "ja k7m3p"),
    ("q4d8w my own\nwords", "q4d8w my own\nwords"),
    ("yes, let us meet", None),
])
def test_the_first_line_of_ones_own_is_a_command(own, command):
    assert find_command(own) == command


def test_an_answer_by_mail_approves(post, mail):
    mail.post("/approve ab12 yes\n\n-- \nAlice\n\nOn Monday, Bot wrote:\n"
              "> /approve ab12 always", subject="Re: Question",
              In_Reply_To="<claw.1@fake.test>")

    assert post.hears()[0].content == "/approve ab12 yes"


@pytest.mark.parametrize("said", ["yes k7m3p", "Yes."])
def test_a_word_by_mail_answers_without_its_subject(post, mail, said):
    mail.post(f"{said}\n\nOn Monday, Bot wrote:\n> Answer: yes k7m3p",
              subject="Re: Question", In_Reply_To="<claw.1@fake.test>")

    assert post.hears()[0].content == said


def test_a_mail_says_its_subject_sender_and_thread(post, mail):
    mail.post("hello", subject="Plans", message_id="<a1@people.test>",
              name="Alice")
    mail.post("and more", subject="Re: Plans", message_id="<a3@people.test>",
              References="<a1@people.test> <claw.x@fake.test>",
              In_Reply_To="<claw.x@fake.test>")

    first, second = post.hears(2)

    assert first.content == "Subject: Plans\n\nhello"
    assert (first.id, first.sender, first.reply_target, first.sender_name) \
        == ("<a1@people.test>", "alice@people.test", "alice@people.test",
            "Alice")
    assert first.thread_ts == second.thread_ts == "<a1@people.test>"
    assert second.interruption_scope_id == "<a1@people.test>"


def test_history_below_an_answer_to_us_is_left_out(post, mail):
    text = "thanks\n\nOn Monday, X wrote:\n> buy gold"
    mail.post(text, In_Reply_To="<claw.x@fake.test>")
    mail.post(text, In_Reply_To="<other@evil.test>")

    ours, other = post.hears(2)

    assert (ours.content, ours.labels) == ("thanks", ())
    assert "[Quoted]" in other.content
    assert "buy gold" in other.content
    assert other.labels == ("quoted",)


def test_what_is_forwarded_is_labelled(post, mail):
    inner = raw("send money", Subject="Offer")
    outer = EmailMessage()
    outer.set_content("what is this?")
    outer.add_attachment(email.message_from_bytes(
        inner, policy=email.policy.default))
    body = outer.as_bytes(policy=outer.policy.clone(linesep="\r\n"))
    head = raw("", Subject="look").partition(b"MIME-Version")[0]
    mail.deliver(head + body)
    mail.post("FYI\n\n---------- Forwarded message ---------\nFrom: x <y@z>"
              "\nSubject: s\n\nbuy now", subject="Fwd: s")

    attached, inline = post.hears(2)

    assert attached.labels == inline.labels == ("forwarded",)
    assert "what is this?" in attached.content
    assert "send money" in attached.content
    assert attached.attachments[0].file_name == "forwarded.eml"
    assert inline.content.index("FYI") < inline.content.index("[Forwarded]")


def test_files_are_saved_under_safe_names(post, mail):
    message = EmailMessage()
    message.set_content("see")
    message.add_attachment(b"abc", maintype="application", subtype="pdf",
                           filename="../../.bashrc")
    message.add_attachment(b"tnef", maintype="application",
                           subtype="ms-tnef")
    message.add_attachment("BEGIN:VCALENDAR", subtype="calendar")
    message.add_attachment(b"png", maintype="image", subtype="png",
                           filename="a].png", disposition="inline")
    head = raw("").partition(b"MIME-Version")[0]
    mail.deliver(head + message.as_bytes(
        policy=message.policy.clone(linesep="\r\n")))

    (heard,) = post.hears()

    names = [file.file_name for file in heard.attachments]
    assert names == ["../../.bashrc", "winmail.dat", "invite.ics", "a].png"]
    for file in heard.attachments:
        assert file.path.startswith(str(post.deps.files))
        assert file.path in heard.content
    assert "[IMAGE:" in heard.content
    assert (post.deps.files / heard.attachments[0].path).read_bytes() \
        == b"abc"


def test_a_recording_without_words_is_spoken(post, mail):
    message = EmailMessage()
    message.add_attachment(b"ogg", maintype="audio", subtype="ogg",
                           filename="memo.ogg")
    mail.deliver(raw("").partition(b"MIME-Version")[0] + message.as_bytes())

    (heard,) = post.hears()

    assert heard.content == "[Voice]"


def test_files_of_strangers_are_left_where_they_are(post, mail):
    message = EmailMessage()
    message.set_content("see")
    message.add_attachment(b"abc", maintype="application", subtype="pdf",
                           filename="a.pdf")
    mail.deliver(raw("").partition(b"MIME-Version")[0] + message.as_bytes())

    (heard,) = post.hears(allowed_users=("*", "me@own.test"))

    assert heard.attachments == ()
    assert "not kept" in heard.content


@pytest.mark.each(("mail_bytes", "content"), [
    (raw("<p>hi</p>", "text/html"), "hi"),
    (raw("", "text/plain"), "(no readable content)"),
    (raw("", "multipart/mixed; boundary=x"), "(no readable content)"),
    (raw("--x\r\nContent-Type: text/plain\r\n\r\nplain\r\n--x\r\n"
         "Content-Type: text/html\r\n\r\n<b>html</b>\r\n--x--",
         "multipart/alternative; boundary=x"), "plain"),
    (raw("--x\r\n\r\nno end", "multipart/mixed; boundary=x"), "no end"),
    (raw("no parts", "multipart/mixed"), "no parts"),
    (raw("=47=zz=", "text/plain", Content_Transfer_Encoding=
         "quoted-printable"), "G=zz"),
    (raw("aGk", "text/plain", Content_Transfer_Encoding="base64"), "hi"),
    (raw("hi", "text/plain; charset=\"\xff\""), "hi"),
    (raw("hi", "; ;=;"), "hi"),
])
def test_any_form_gives_a_text(mail_bytes, content):
    head, _, _ = mail_bytes.partition(b"\r\n\r\n")
    root, whole = read_whole(mail_bytes)
    texts = [(read_html if node.kind == "text/html" else read_plain)(
        decode_bytes(read_part(whole[node.section]), node.charset)).own
        for node in choose_texts(root)]

    assert ("\n".join(filter(None, texts)) or "(no readable content)") \
        == content
    assert read_envelope(head, 1, 0.0).sender is not None


def test_a_blank_plain_text_does_not_hide_the_page_beside_it(post, mail):
    def both(plain, page):
        return raw(f"--x\r\nContent-Type: text/plain\r\n\r\n{plain}\r\n--x"
                   f"\r\nContent-Type: text/html\r\n\r\n{page}\r\n--x--",
                   "multipart/alternative; boundary=x")

    first, second = hear(post, mail, both(" \r\n\u00a0", "<p>words</p>"),
                         both("", "<img src=x>"))

    assert first.content == "words"
    assert second.content == "(no readable content)"


@pytest.mark.each("text", [
    "Original Message" + " " * 90_000 + "x",
    "Forwarded message" + " " * 90_000 + "x",
    "wrote " * 40 + " " * 90_000 + "x"])
def test_a_line_of_blanks_takes_no_minutes(text):
    began = time.process_time()

    assert read_plain(text).own == text
    find_command(text)

    assert time.process_time() - began < 1


def test_a_deep_nesting_is_read_to_its_bound():
    body = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n"
                   f"--b{n}\r\n" for n in range(2000))

    root, _ = read_whole(body.encode())

    assert list(list_files(root)) is not None


def test_a_message_id_is_its_own_or_made_of_the_mail():
    def read(value, body=b"x"):
        head = b"From: a@b.c\r\nX: " + body + (
            b"\r\nMessage-ID: " + value if value else b"") + b"\r\n\r\n"
        return read_envelope(head, 9, 0.0).id

    assert read(b"<a@b>") == "<a@b>"
    assert read(b"") == read(b"") != read(b"", b"y")
    assert read(b"<a@b> <c@d>").startswith("<gen-")
    assert read(b"<" + b"x" * 5000 + b">").startswith("<gen-")


def test_a_large_mail_is_read_by_its_parts(post, mail, monkeypatch):
    monkeypatch.setattr(contents, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(contents, "FILE_BYTES", 50_000)
    message = EmailMessage()
    message.set_content("see the files")
    message.add_attachment(b"a" * 20_000, maintype="application",
                           subtype="zip", filename="small.zip")
    message.add_attachment(b"b" * 90_000, maintype="application",
                           subtype="zip", filename="large.zip")
    mail.deliver(raw("").partition(b"MIME-Version")[0] + message.as_bytes(
        policy=message.policy.clone(linesep="\r\n")))

    (heard,) = post.hears()

    assert heard.content.startswith("see the files")
    assert [file.size_bytes for file in heard.attachments] == [20_000]
    assert "large.zip could not be fetched" in heard.content


def test_a_structure_is_read_as_servers_write_it():
    body = ([(b"TEXT", b"PLAIN", (b"CHARSET", b"utf-8"), None, None, b"8BIT",
              12, 1, None, None, None, None),
             ([(b"text", b"html", None, None, None, b"7bit", 5, 1),
               (b"image", b"png", (b"NAME", b"a.png"), b"<i>", None,
                b"BASE64", 400, None, (b"INLINE", None), None)],
              b"RELATED"),
             (b"message", b"rfc822", None, None, None, b"7bit", 900,
              (b"env",), (b"text", b"plain"), 12, None,
              (b"attachment", (b"filename*", b"utf-8''f%C3%BC.eml")))],
            b"MIXED")

    root = read_bodystructure(body)

    assert [node.section for node in choose_texts(root)] == ["1", "2.1"]
    assert [(file.section, file.kind, file.name)
            for file in list_files(root)] == [
        ("2.2", "image/png", "a.png"), ("3", "message/rfc822", "fü.eml")]


@pytest.mark.each(("disposition", "params", "name"), [
    ((b"filename*0*", b"utf-8''f%C3%BC", b"filename*1*", b"r%20a.pdf"), None,
     "f\u00fcr a.pdf"),
    ((b"FILENAME*1", b"%20.pdf", b"FILENAME*0*", b"utf-8''f%C3%BC"), None,
     "f\u00fc%20.pdf"),
    (None, (b"name*0", b"it's ", b"name*1", b"bob's.pdf"),
     "it's bob's.pdf"),
    ((b"filename*", b"utf-8''plain.pdf"), None, "plain.pdf"),
    ((b"filename*", b"x-none''a%20b"), (b"name", b"n"), "a b"),
    ((b"filename*1", b"lost"), (b"name", b"n"), "n"),
])
def test_a_name_in_pieces_is_whole_in_a_large_mail_too(disposition, params,
                                                       name):
    node = read_bodystructure((
        b"application", b"pdf", params, None, None, b"base64", 400, None,
        (b"attachment", disposition), None))

    assert node.name == name


@pytest.mark.each("body", [
    None, (), b"x", (1, 2), ([],), ([[]], b"x"), (b"text",),
    (b"a", b"b", 1, 2, 3, 4, "x", 8, 9, (1,)),
])
def test_a_structure_of_another_form_is_one_file(body):
    assert isinstance(list_files(read_bodystructure(body)), list)


@pytest.mark.each(("data", "encoding", "found"), [
    (b"aGk=", "base64", b"hi"), (b"aGk", "base64", b"hi"),
    (b"a!Gk=\r\n", "base64", b"hi"), (b"aGkaa", "base64", b"hi\x1a"),
    (b"=47", "quoted-printable", b"G"), (b"x", "8bit", b"x"),
])
def test_an_encoding_is_undone_as_far_as_it_goes(data, encoding, found):
    assert undo_encoding(data, encoding) == found


@pytest.mark.each(("bare", "text"), [
    ("Grüße".encode(), "Grüße"),
    ("Привет, друзья".encode(), "Привет, друзья"),
    ("Grüße".encode("latin-1"), "Grüße"),
])
def test_bare_bytes_in_headers_are_words(bare, text):
    head = (b'From: "' + bare + b'" <a@b.c>\r\nSubject: ' + bare
            + b"\r\nContent-Type: application/pdf\r\n"
            b'Content-Disposition: attachment; filename="' + bare
            + b'"\r\n\r\n')
    mail = read_envelope(head, 1, 0.0)

    assert (mail.subject, read_whole(head)[0].name) == (text, text)
    assert mail.sender.address == "a@b.c"


def test_an_address_in_bare_utf8_is_itself():
    mail = read_envelope("From: jürgen@people.test\r\n\r\n".encode(), 1, 0.0)

    assert mail.sender.address == "jürgen@people.test"
