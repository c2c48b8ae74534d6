"""Pictures: what their heads say, and those of the screen."""

import struct
import zlib

import pytest

from claw.core.images import image_size
from claw.tools.files.images import ImageInfo, Screenshot


def png(width, height):
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body
            + struct.pack(">I", zlib.crc32(body)))


JPEG = (b"\xff\xd8\xff\xe0\0\x04ab" + b"\xff\xff\xc4\0\x04cd"
        + b"\xff\xc2\0\x11\x08\0\x1e\0\x28\x03")
WEBP = b"RIFF\0\0\0\0WEBP"


@pytest.mark.parametrize(("data", "size"), [
    (png(640, 480), (640, 480)),
    (JPEG, (40, 30)),
    (b"GIF89a" + struct.pack("<HH", 3, 4) + b"\0\0\0", (3, 4)),
    (b"BM" + bytes(12) + struct.pack("<Iii", 40, 5, -6), (5, 6)),
    (b"BM" + bytes(12) + struct.pack("<IHH", 12, 5, 6), (5, 6)),
    (WEBP + b"VP8X" + bytes(8) + b"\x63\0\0\x31\0\0", (100, 50)),
    (WEBP + b"VP8L" + bytes(4) + b"\x2f"
     + struct.pack("<I", 99 | 49 << 14), (100, 50)),
    (WEBP + b"VP8 " + bytes(7) + b"\x9d\x01\x2a"
     + struct.pack("<HH", 100, 50), (100, 50)),
    (b"hello", None),
    (JPEG[:12], None),
    (b"\xff\xd8\xff" + b"\xff" * 100_000, None),
    (png(1, 1)[:14], None),
])
def test_an_image_says_its_size(data, size):
    assert image_size(data) == size


def test_image_info_tells_type_and_size(room):
    (room.workspace / "x.txt").write_bytes(png(8, 9))
    tool = ImageInfo(room.deps())

    assert room.call(tool, path="x.txt").output == (
        "File: x.txt\nType: image/png\nDimensions: 8x9\nSize: 33 bytes")
    shown = room.call(tool, path="x.txt", include_base64=True).output
    assert shown.split("\n")[-1].startswith("data:image/png;base64,iVBOR")
    (room.workspace / "y.png").write_text("hello")
    assert "is no image" in room.call(tool, path="y.png").error


@pytest.fixture
def screen(room, tmp_path):
    """A program that writes its words beside the picture."""
    (tmp_path / "bin").mkdir()

    def build(script, name="scrot"):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        return Screenshot(room.deps(), {"DISPLAY": ":7", "API_KEY": "x"},
                          f"{tmp_path}/bin:/usr/bin:/bin")
    return build


def test_a_screenshot_lands_in_the_workspace(room, screen, tmp_path):
    (tmp_path / "picture.png").write_bytes(png(80, 60))
    tool = screen('for last; do :; done\n'
                  f'cp {tmp_path}/picture.png "$last"\n'
                  f'env > {tmp_path}/env; echo "$@" > {tmp_path}/words')

    result = room.call(tool, filename="desk", region="1,2,3,4")

    assert result.output == ("Saved: desk.png\nType: image/png\n"
                             "Dimensions: 80x60\nSize: 33 bytes")
    assert (room.workspace / "desk.png").read_bytes() == png(80, 60)
    assert (tmp_path / "words").read_text().startswith("-a 1,2,3,4 -o /")
    environment = (tmp_path / "env").read_text()
    assert "DISPLAY=:7" in environment
    assert "API_KEY" not in environment


@pytest.mark.parametrize(("script", "args", "why"), [
    ("exit 0", {}, "scrot made no picture"),
    ("echo no display >&2; exit 2", {}, "took no picture: no display"),
    ("exit 0", {"filename": "../x.png"}, "a plain name"),
    ("exit 0", {"filename": "a;b"}, "a plain name"),
    ("exit 0", {"region": "all"}, "left,top,width,height"),
])
def test_a_screenshot_that_fails_says_why(room, screen, script, args, why):
    result = room.call(screen(script), **args)

    assert why in result.error
    assert not list(room.workspace.glob("*.png"))


def test_without_a_program_it_is_named(room):
    result = room.call(Screenshot(room.deps(), {}, "/nowhere"))

    assert "scrot" in result.error


def test_a_part_of_the_screen_needs_a_program_that_can(room, screen):
    tool = screen("exit 0", "gnome-screenshot")

    assert "scrot" in room.call(tool, region="1,2,3,4").error
