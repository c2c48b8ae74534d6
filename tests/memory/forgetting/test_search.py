"""Files that were put there to keep a search from its end."""

import bz2
import gzip
import json
import os
import time
import zipfile

import pytest

from claw.memory.forgetting import search as module
from claw.memory.forgetting.order import (
    Order,
    name_order,
    read_order,
    write_order,
)
from claw.memory.forgetting.search import search
from claw.memory.forgetting.texts import Texts

TEXTS = Texts(["my locker is the blue one"])


def test_the_holes_of_a_sparse_file_are_not_read(tmp_path):
    file = tmp_path / "sparse"
    with open(file, "wb") as out:
        out.truncate(1 << 40)
        out.seek(1 << 39)
        out.write(b"so my locker is the blue one")
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", 1 << 40)
    start = time.process_time()
    found = search(tmp_path, TEXTS)

    assert [hit.path for hit in found.hits] == ["sparse"]
    assert found.unread == ()
    assert time.process_time() - start < 5


@pytest.mark.parametrize("pack", ["bzip2", "zip"])
def test_what_unpacks_without_end_is_not_unpacked_to_it(
        tmp_path, pack, monkeypatch):
    monkeypatch.setattr(module, "_MOST_UNPACKED", 8 << 20)
    many = bytes(10 << 20)
    if pack == "bzip2":
        (tmp_path / "bomb").write_bytes(bz2.compress(many, 1))
    else:
        with zipfile.ZipFile(tmp_path / "bomb", "w",
                             zipfile.ZIP_DEFLATED) as out:
            for number in range(2):
                out.writestr(str(number), many[:5 << 20])
    (tmp_path / "z.gz").write_bytes(gzip.compress(
        b"my locker is the blue one"))
    found = search(tmp_path, TEXTS)

    assert found.unread == ("bomb",)
    assert [hit.path for hit in found.hits] == ["z.gz"]


@pytest.mark.parametrize("order", [
    {"keys": "abc", "people": "", "sessions": "", "texts": "hello"},
    {"keys": {"a": 1}, "people": [], "sessions": [], "texts": []},
    {"keys": [], "people": [], "sessions": [], "texts": [None]},
    [], "keys", "[" * 200_000], ids=lambda order: str(order)[:20])
def test_a_damaged_order_removes_nothing(tmp_path, order):
    place = tmp_path / name_order(tmp_path)
    place.parent.mkdir()
    place.write_text(
        order if isinstance(order, str) else json.dumps(
            order | {"inode": tmp_path.stat().st_ino}
            if isinstance(order, dict) else order))

    assert read_order(tmp_path, tmp_path) == Order()


def test_an_order_for_another_folder_of_the_same_name_removes_nothing(
        tmp_path):
    workspace, moved = tmp_path / "workspace", tmp_path / "moved"
    workspace.mkdir()
    order = Order(("locker",), (), (), ("my locker is the blue one",))
    write_order(tmp_path, workspace, order)

    assert read_order(tmp_path, workspace) == order
    workspace.rename(moved)
    workspace.mkdir()
    assert read_order(tmp_path, workspace) == Order()


def test_what_a_file_is_called_is_found_too(tmp_path):
    (tmp_path / "My-Locker 7731-blue.txt").write_text("tea")

    assert [hit.path for hit in search(
        tmp_path, Texts(["locker 7731-blue"])).hits] \
        == ["My-Locker 7731-blue.txt"]
