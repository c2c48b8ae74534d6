"""HTTP/1.1 as bytes, cut anywhere; h11 is the other reader."""

import h11
import pytest

from claw.net.http1 import AnswerParser, ProtocolError, write_request

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

ANSWERS = [
    OK + b"Content-Length: 5\r\n\r\nhello",
    OK + b"content-length: 5, 5\r\nX: 1\r\nx: 2\r\n\r\nhello",
    CHUNKED + b"2\r\nhe\r\n3;a=b\r\nllo\r\n0\r\n\r\n",
    CHUNKED + b"0000000005 \r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    OK + b"Connection: close\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\n\r\nhello",
    b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\nContent-Length:5\n\nhello",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK
    + b"Content-Length: 0\r\n\r\n",
    OK + b"X: a\r\n  b\r\nContent-Length: 5\r\n\r\nhello",
    OK + b"X: gr\xfc\xdfe \t\r\nContent-Length: 5\r\n\r\nhello",
]
BROKEN = [
    b"", b"nonsense\r\n\r\n", b"220 smtp ready\r\n", b"SSH-2.0-x\r\n",
    b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 two OK\r\n\r\n",
    b"HTTP/1.1 20 OK\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n",
    OK, OK + b"no colon\r\n\r\n", OK + b"A\0B: c\r\n\r\n",
    OK + b"A : c\r\n\r\n", OK + b": c\r\n\r\n",
    OK + b"A: b\0c\r\n\r\n",
    OK + b"Content-Length: -5\r\n\r\nhello",
    OK + b"Content-Length: 0x5\r\n\r\nhello",
    OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    OK + b"Content-Length: 50\r\n\r\nhello",
    OK + b"Transfer-Encoding: gzip\r\n\r\n",
    CHUNKED + b"5\r\nhel", CHUNKED + b"zz\r\n", CHUNKED + b"-1\r\n",
    CHUNKED + b"\r\n", CHUNKED + b"2\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5\r\nhello\r\n", CHUNKED + b"5\r\nhello\r\n0\r\n",
    CHUNKED + b"f" * 40 + b"\r\n", CHUNKED + b"5;" + b"x" * 10_000,
    OK + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
]


def read(data, size, method="GET"):
    """Status, headers and body of an answer that comes in such pieces."""
    parser = AnswerParser(method)
    pieces = [data[at:at + size] for at in range(0, len(data), size)]
    body = b""
    for piece in [*pieces, b""]:
        parser.receive(piece)
        if parser.read_head() is None:
            continue
        while found := parser.read_body():
            body += found
        if parser.done:
            break
    assert parser.done
    return parser, body


def read_by_h11(data):
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/",
                                headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    connection.receive_data(b"")
    body = b""
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return head.status_code, body


@pytest.mark.each("size", [1, 2, 3, 7, 100, 100_000])
@pytest.mark.each("data", ANSWERS)
def test_an_answer_cut_anywhere_is_read_as_h11_reads_it(data, size):
    parser, body = read(data, size)

    assert (parser.head.status, body) == read_by_h11(data)


@pytest.mark.each("size", [1, 3, 100_000])
@pytest.mark.each("data", BROKEN)
def test_what_is_no_answer_is_an_error(data, size):
    with pytest.raises(ProtocolError):
        read(data, size)


def test_headers_are_joined_and_read_in_any_script():
    data = OK + ("X: 1\r\nx: 2\r\nY: grüße\r\n"
                 "Content-Length: 0\r\n\r\n").encode()
    parser, _ = read(data, 5)

    assert parser.head.headers == {"x": "1, 2", "y": "grüße",
                                   "content-length": "0"}


def test_the_answer_to_head_has_no_body():
    parser, body = read(OK + b"Content-Length: 5\r\n\r\n", 9, "HEAD")

    assert body == b""
    assert parser.reusable


@pytest.mark.each(("data", "reusable"), [
    (OK + b"Content-Length: 2\r\n\r\nhi", True),
    (CHUNKED + b"0\r\n\r\n", True),
    (OK + b"Content-Length: 2\r\nConnection: Close\r\n\r\nhi", False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", False),
    (OK + b"Content-Length: 2\r\n\r\nhi and more", False),
])
def test_when_a_connection_stays(data, reusable):
    parser = AnswerParser()
    parser.receive(data)
    parser.read_head()
    while parser.read_body():
        pass

    assert parser.done
    assert parser.reusable is reusable


def test_a_request_is_what_h11_understands():
    data = write_request("POST", "/a?b=c", {"host": "x", "x-key": "v"},
                         b"body")
    server = h11.Connection(h11.SERVER)
    server.receive_data(data)
    request = server.next_event()

    assert (request.method, request.target) == (b"POST", b"/a?b=c")
    assert dict(request.headers)[b"content-length"] == b"4"
    assert server.next_event().data == b"body"
