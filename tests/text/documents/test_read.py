"""What documents say, and what hostile ones come to."""

import io
import os
import subprocess
import sys
import zipfile
import zlib

import pytest

from claw.core.errors import DeniedError, MissingPartError, UsageError
from claw.security.confine import landlock
from claw.text.documents import read as reading
from claw.text.documents.child import MEMORY_BYTES
from claw.text.documents.read import read_document

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def pack(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml"),
                             text)
    return file.getvalue()


def word(body):
    return pack(word__document_xml=f"<w:document {W}><w:body>{body}"
                                   "</w:body></w:document>")


def make_pdf(*pages):
    """A PDF document with a line of text on each page; bytes are what draws
    a page, and are packed."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>",
               f"<</Type/Pages/Count {len(pages)}/Kids["
               + " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
               + "]>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"]
    for number, text in enumerate(pages):
        stream = zlib.compress(text, 9).hex() if isinstance(text, bytes) \
            else f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else ""
        packed = "/Filter[/ASCIIHexDecode/FlateDecode]" \
            if isinstance(text, bytes) else ""
        objects += [
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources"
            f"<</Font<</F1 3 0 R>>>>/Contents {5 + 2 * number} 0 R>>",
            f"<</Length {len(stream)}{packed}>>stream\n{stream}\nendstream"]
    body, places = "%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(f"{len(body):010d} 00000 n \n")
        body += f"{number} 0 obj\n{text}\nendobj\n"
    size = len(objects) + 1
    return (f"{body}xref\n0 {size}\n0000000000 65535 f \n"
            f"{''.join(places)}trailer\n<</Root 1 0 R/Size {size}>>\n"
            f"startxref\n{len(body)}\n%%EOF").encode()


MEASURE = """
import resource, sys
from claw.core.errors import UsageError
from claw.text.documents.read import read_document
try:
    read_document("x", sys.stdin.buffer.read(), max_chars=1000)
except UsageError as error:
    print(error.message)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def read(data, **options):
    return read_document("x", data, **{"max_chars": 10_000, **options})


@pytest.mark.parametrize(("body", "text"), [
    ("<w:p><w:r><w:t>Der Mietvertrag</w:t></w:r></w:p>", "Der Mietvertrag"),
    ("<w:p><w:r><w:t>房租</w:t><w:tab/><w:t>إيجار</w:t></w:r></w:p>",
     "房租\tإيجار"),
    ("<w:p><w:del><w:r><w:t>old</w:t></w:r></w:del>"
     "<w:r><w:t>new</w:t></w:r></w:p>", "new"),
    ("<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
     "<w:r><w:t>seen</w:t></w:r></w:p>", "seen"),
    ("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc>"
     "<w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
     "| a\\|b | c |"),
])
def test_a_word_document_is_what_a_reader_sees_of_it(body, text):
    assert read(word(body)).text == text


def test_a_pdf_is_its_pages(tmp_path):
    found = read(make_pdf("first page", "", "third page"))

    assert list(found.parts) == ["first page", "", "third page"]
    assert (found.count, found.empty) == (3, 1)
    assert list(read(make_pdf("a", "b", "c"), first=2,
                     last=2).parts) == ["b"]


def test_more_than_was_asked_for_is_cut():
    found = read(make_pdf("x" * 90, "y" * 90), max_chars=100)

    assert found.cut
    assert len(found.text) <= 102


@pytest.mark.parametrize(("data", "words"), [
    (make_pdf("", ""), "pictures"),
    (b"%PDF-1.7\n" + b"\0\xff" * 500, "damaged"),
    (word("<w:p><w:r>"), "damaged"),
    (word("")[:-30], "damaged"),
    (word(""), "no text"),
])
def test_what_gives_no_text_says_why(data, words):
    with pytest.raises(UsageError, match=words) as caught:
        read(data)
    assert caught.value.hint


def test_another_zip_file_is_no_document():
    assert read(pack(readme="hello")) is None


def test_a_small_file_does_not_unpack_to_more_than_there_may_be():
    bomb = word("<w:p/>" * 10 + " " * (600 << 20))
    assert len(bomb) < 1 << 20

    with pytest.raises(UsageError, match="memory"):
        read(bomb)


def test_entities_that_grow_without_end_are_damage():
    lol = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">'
                  for n in range(1, 12))
    data = pack(word__document_xml=(
        f'<!DOCTYPE w [<!ENTITY l0 "lol">{lol}]><w:p {W}><w:r><w:t>&l11;'
        "</w:t></w:r></w:p>"))

    with pytest.raises(UsageError, match="damaged"):
        read(data)


def test_an_entity_of_this_machine_is_not_read():
    data = pack(word__document_xml=(
        '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        f"<w:p {W}><w:r><w:t>seen &x;</w:t></w:r></w:p>"))

    assert read(data).text.strip() == "seen"


@pytest.mark.parametrize("mebibytes", [60, 200])
def test_a_small_pdf_does_not_take_more_memory_than_there_may_be(mebibytes):
    line = b"BT /F1 12 Tf 10 10 Td (Hello world this is) Tj ET\n"
    bomb = make_pdf(line * ((mebibytes << 20) // len(line)))
    assert len(bomb) < 3 << 19

    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=bomb, capture_output=True,
        check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(
            sys.path)})
    said, used = done.stdout.decode().splitlines()
    assert "memory" in said
    assert int(used) * 1024 < 1.2 * MEMORY_BYTES


@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
def test_a_required_sandbox_holds_for_documents(monkeypatch, layer):
    data = word("<w:p><w:r><w:t>seen</w:t></w:r></w:p>")
    monkeypatch.setattr(reading, "_BOOT", f"""
import sys; sys.path.append({{!r}})
from claw.text.documents import child
def fail(*_, **__):
    raise OSError("no {layer} here")
child.{layer}.restrict = fail
child.main()
""")

    assert read(data).text.strip() == "seen"
    for each in (data, make_pdf("x")):
        with pytest.raises(DeniedError, match=f"no {layer} here"):
            read(each, required=True)


def test_a_whole_sandbox_reads_where_it_is_required():
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")
    assert read(word("<w:p><w:r><w:t>seen</w:t></w:r></w:p>"),
                required=True).text.strip() == "seen"


def test_a_reader_that_takes_too_long_is_ended():
    with pytest.raises(UsageError, match="time"):
        read(make_pdf("x"), timeout_s=0.001)


def test_the_reader_reaches_neither_files_nor_the_network(monkeypatch):
    monkeypatch.setattr(reading, "_BOOT", """
import sys; sys.path.append({!r})
import json, socket
from claw.text.documents import child
child._confine()
found = []
for action in (lambda: open("/etc/passwd"), socket.socket,
               lambda: open("/tmp/x", "w")):
    try:
        action()
        found.append("reached")
    except OSError:
        pass
print(json.dumps(dict(parts=["nothing", *found], kind="probe")))
""")
    if not landlock.abi():
        pytest.skip("this kernel has no Landlock")

    assert read(b"PK\3\4").text == "nothing"


def test_a_pdf_without_its_reader_names_the_command(monkeypatch):
    monkeypatch.setattr(reading, "_ask_child",
                        lambda *_: {"error": "missing"})

    with pytest.raises(MissingPartError, match="pypdfium2") as caught:
        read(make_pdf("x"))
    assert "documents" in caught.value.hint


def test_a_sheet_shows_dates_and_formulas():
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    data = pack(
        xl__workbook_xml=f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>'
        '<sheet name="Rents" r:id="r1"/></sheets></workbook>',
        **{"xl/_rels/workbook.xml.rels": '<Relationships>'
           f'<Relationship Id="r1" Type="{rel}/worksheet" '
           'Target="worksheets/s.xml"/>'
           f'<Relationship Id="r2" Type="{rel}/styles" Target="styles.xml"/>'
           "</Relationships>"},
        xl__styles_xml=f'<styleSheet xmlns="{main}"><cellXfs>'
        '<xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        xl__worksheets__s_xml=f'<worksheet xmlns="{main}"><row>'
        '<c r="A1" t="inlineStr"><is><t>Mina</t></is></c>'
        '<c r="C1" s="1"><v>45413</v></c><c r="D1"><f>B1+1</f></c></row>'
        "</worksheet>")

    assert read(data).text == "## Rents\n\nMina\t\t2024-05-01\t=B1+1"
