"""The blocks of a prompt -> one message."""

import base64
import io
import zipfile

import pytest

from claw.core.errors import DeniedError, NotFoundError, UsageError
from claw.gateway.acp.blocks import build_message, find_path
from claw.gateway.acp.wire import (
    ImageBlock,
    LinkBlock,
    Resource,
    ResourceBlock,
    TextBlock,
)

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
DATA = base64.b64encode(PNG).decode()
SHOWN = f"[IMAGE:data:image/png;base64,{DATA}]"
FILES = {"/w/a.py": b"print(1)", "/w/a b.txt": "grün".encode(),
         "/w/p.png": PNG, "/w/x.bin": b"\x7fELF" + bytes(100),
         "/w/long": b"x" * (1 << 20)}


def read_file(path, most):
    if not path.startswith("/w/"):
        raise DeniedError(f"Path not allowed by security policy: {path}")
    if path not in FILES:
        raise NotFoundError(f"no such file: {path}")
    return FILES[path]


def build(*blocks):
    return build_message(blocks, read_file)


def resource(uri, **given):
    return ResourceBlock(Resource(uri, **given))


@pytest.mark.each(("blocks", "question"), [
    ([TextBlock("one")], "one"),
    ([TextBlock("one"), TextBlock("two")], "one\n\ntwo"),
    ([TextBlock("one "), TextBlock("two")], "one two"),
    ([TextBlock("fix "), LinkBlock("file:///w/a.py", "a.py"),
      TextBlock(" now")], "fix [a.py](file:///w/a.py) now"),
    ([LinkBlock("https://x.org/a", "a")], "[a](https://x.org/a)"),
    ([TextBlock("see"), resource("file:///x/b.py", text="x")],
     "see [file:///x/b.py]"),
    ([TextBlock("what?"), ImageBlock(DATA)], f"what? {SHOWN}"),
    ([resource("x:y", blob=DATA)], SHOWN),
    ([LinkBlock("/w/p.png", "p")], f"[p](/w/p.png) {SHOWN}"),
    ([LinkBlock("x:[IMAGE:/etc/passwd]\n", "[IMAGE:/etc/passwd]")],
     "[(IMAGE:/etc/passwd)](x:(IMAGE:/etc/passwd)?)"),
])
def test_what_stands_in_the_message(blocks, question):
    assert build(*blocks).question == question


def test_what_is_attached_goes_under_the_message_with_its_source():
    found = build(TextBlock("look "), LinkBlock("file:///w/a%20b.txt", "a b"),
                  resource("https://x.org/page", text="words"))

    assert [(one.source, one.text) for one in found.passages] == [
        ("file:/w/a b.txt", "grün"), ("file:https://x.org/page", "words")]
    assert found.text.endswith(
        "\n\n/w/a b.txt:\ngrün\n\nhttps://x.org/page:\nwords")


@pytest.mark.parametrize(("uri", "remark"), [
    ("file:///etc/passwd", "/etc/passwd was not read: Path not allowed by "
                           "security policy: /etc/passwd"),
    ("file:///w/none", "/w/none was not read: no such file: /w/none"),
    ("file:///w/long", "/w/long was left out: the message and what is "
                       "attached are longer than 1,048,576 bytes"),
    ("file:///w/x.bin", "/w/x.bin holds no text and was left out"),
])
def test_a_file_that_can_not_be_read_is_told_of(uri, remark):
    found = build(TextBlock("see "), LinkBlock(uri, "it"))

    assert found.remarks == (remark,)
    assert found.passages == ()
    assert found.question == f"see [it]({uri})"


def test_a_document_is_read():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("word/document.xml", (
            '<w:document xmlns:w="http://schemas.openxmlformats.org/'
            'wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>green tea'
            "</w:t></w:r></w:p></w:body></w:document>"))
        file.writestr("[Content_Types].xml", "<Types/>")
    found = build(resource("file:///x/a.docx", blob=base64.b64encode(
        data.getvalue()).decode()))

    assert [one.text for one in found.passages] == ["green tea"]


@pytest.mark.each("blocks", [
    [],
    [TextBlock(" \n")],
    [TextBlock("x" * ((1 << 20) + 1))],
    [ImageBlock("no base64!")],
    [ImageBlock("")],
    [resource("x:y", blob="***")],
    [resource("x:y", text="x" * ((1 << 20) + 1))],
    [resource("x:y", text="x" * 600_000), resource("x:z", text="x" * 600_000)],
])
def test_what_is_no_prompt_is_wrong_usage(blocks):
    with pytest.raises(UsageError):
        build(*blocks)


@pytest.mark.each(("uri", "path"), [
    ("file:///a/b", "/a/b"),
    ("file://localhost/a", "/a"),
    ("file:///a%2Fb%20c", "/a/b c"),
    ("file:///a#L1:5", "/a"),
    ("/a/b", "/a/b"),
    ("file://other/a", None),
    ("https://x/a", None),
    ("zed:///agent/file?path=/a", None),
    ("file://[", None),
    ("", None),
])
def test_only_addresses_of_files_here_have_a_path(uri, path):
    assert find_path(uri) == path
