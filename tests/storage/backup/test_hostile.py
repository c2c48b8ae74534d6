"""Archives of a stranger that would fill the memory are refused before."""

import gzip
import io
import tarfile
import tracemalloc
from hashlib import sha256

import pytest

from claw.core.errors import StorageError
from claw.storage.backup import archive as archive_module
from claw.storage.backup.archive import (
    MANIFEST,
    Manifest,
    Member,
    verify_archive,
    write_archive,
)
from claw.storage.backup.collect import Source
from claw.storage.backup.restore import restore_archive

MB = 1 << 20
LONGEST = MB - 512


@pytest.fixture(params=["verify", "restore"])
def read(request, tmp_path, monkeypatch):
    """Verify an archive of these bytes, or unpack one that was verified,
    with empty files of these names."""
    def read(data, names=("home/a",)):
        path = tmp_path / "evil"
        path.write_bytes(data)
        if request.param == "verify":
            return verify_archive(path)
        monkeypatch.setattr("claw.storage.backup.restore.verify_archive",
                            lambda *_: Manifest("", "1", members))
        members = tuple(Member(name, 0, sha256().hexdigest(), 0o644)
                        for name in names)
        home = tmp_path / "new"
        try:
            return restore_archive(path, home, home / "workspace", stamp="x")
        finally:
            assert not home.exists()
    return read


def pack(*blocks):
    held = io.BytesIO()
    with gzip.GzipFile(fileobj=held, mode="wb", compresslevel=1) as file:
        for block in blocks:
            file.write(block)
    return held.getvalue()


def make_header(name, size=0, kind=tarfile.REGTYPE, **changes):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    data = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    for start, value in changes.get("patches", ()):
        data[start:start + len(value)] = value
    data[148:156] = b"        "
    data[148:156] = b"%06o\0 " % sum(data)
    return bytes(data)


def make_record(key, value):
    """A pax record; its length counts itself."""
    text = f" {key}={value}\n"
    size = len(text)
    while size != len(f"{size}{text}"):
        size += 1
    return f"{size}{text}".encode()


def fill_block(data):
    return data + bytes(-len(data) % 512)


def make_pax(records, kind=tarfile.XHDTYPE):
    return make_header("p", len(records), kind) + fill_block(records)


A_FILE = make_header("home/a")
SPARSE = make_pax(make_record("GNU.sparse.major", 1)
                  + make_record("GNU.sparse.minor", 0)
                  + make_record("GNU.sparse.name", "home/a")
                  + make_record("GNU.sparse.realsize", 0))
EXTENDED = b"00000000001\0" * 42 + b"\1" + bytes(7)


HOSTILE = {
    "a pax header": [make_header("p", 64 * MB, tarfile.XHDTYPE),
                     *[bytes(MB)] * 64],
    "a pax header after a file": [
        A_FILE, make_header("p", 64 * MB, tarfile.XHDTYPE),
        *[bytes(MB)] * 64],
    "a global header": [make_header("p", 64 * MB, tarfile.XGLTYPE),
                        *[bytes(MB)] * 64],
    "a long name": [make_header("p", 64 * MB, tarfile.GNUTYPE_LONGNAME),
                    *[b"x" * MB] * 64],
    "many headers": [make_pax(make_record("a", "b" * 400)) * 1000
                     for _ in range(20)],
    "many long headers": [make_pax(make_record("k" * n, "b" * LONGEST))
                          for n in range(1, 40)],
    "a map of holes": [SPARSE, make_header("home/a", 64 * MB),
                       b"9999999\n" + b"0" * 503 + b"\n",
                       *[(b"0" * 511 + b"\n") * 2048] * 64],
    "a map of holes, old": [
        make_header("home/a", 0, tarfile.GNUTYPE_SPARSE,
                    patches=[(482, b"\1")]), *[EXTENDED * 2048] * 64],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_headers_that_would_fill_the_memory_are_refused(read, kind):
    data = pack(*HOSTILE[kind])
    tracemalloc.start()
    try:
        with pytest.raises(StorageError) as error:
            read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 * MB, f"{peak / MB:.0f} MiB"
    assert "is no backup, or is damaged: a header in it is longer than" \
        in error.value.message or "recursion" in error.value.message


def test_small_global_headers_are_refused_too(read):
    with pytest.raises(StorageError, match="does not belong in a backup"):
        read(pack(make_pax(make_record("a", "b"), tarfile.XGLTYPE), A_FILE))


def test_a_header_of_nearly_a_mebibyte_is_read(tmp_path):
    path = tmp_path / "b"
    path.write_bytes(pack(*[make_pax(make_record("a", "b" * LONGEST))
                            + A_FILE] * 3))
    with pytest.raises(StorageError, match="has no end: it was cut off"):
        verify_archive(path)


def test_more_members_than_a_backup_has_are_refused(read, monkeypatch):
    monkeypatch.setattr(archive_module, "MOST_MEMBERS", 50)
    names = [f"home/{number}" for number in range(51)]
    with pytest.raises(StorageError, match="more than 50 files"):
        read(pack(*map(make_header, names)), names)


def test_what_was_read_of_many_members_is_let_go(tmp_path):
    path = tmp_path / "b"
    path.write_bytes(pack(*(
        make_header(f"home/{n}") for n in range(5_000))))
    with archive_module.opened(path, None) as members:
        tracemalloc.start()
        try:
            assert sum(1 for _ in members) == 5_000
            left = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert left < MB // 4


def test_a_backup_of_more_files_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_module, "MOST_MEMBERS", 5)
    (tmp_path / "it").write_text("x")
    sources = [Source(f"home/{n}", tmp_path, "it") for n in range(5)]
    with pytest.raises(StorageError, match="5 files at most"):
        write_archive(tmp_path / "b", sources, [], made_at="", version="1")
    assert [path.name for path in tmp_path.iterdir()] == ["it"]
    write_archive(tmp_path / "b", sources[1:], [], made_at="", version="1")
    assert len(verify_archive(tmp_path / "b").members) == 4


def test_a_manifest_longer_than_its_members_need_is_refused(tmp_path):
    path = tmp_path / "b"
    path.write_bytes(pack(make_header(MANIFEST, 64 * MB), *[b" " * MB] * 64))
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match=r"too long \(64 MiB\)"):
            verify_archive(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MB


def test_a_manifest_as_long_as_its_members_need_is_read(tmp_path):
    (tmp_path / "it").write_text("x")
    name = "home/" + "\N{PILE OF POO}" * 60
    sources = [Source(f"{name}{n}", tmp_path, "it") for n in range(300)]
    original = archive_module._OTHER_BYTES
    archive_module._OTHER_BYTES = 512
    try:
        made = write_archive(tmp_path / "b", sources, [], made_at="now",
                             version="1")
        assert verify_archive(tmp_path / "b") == made
    finally:
        archive_module._OTHER_BYTES = original
