"""Files that people send: what can't be had."""

import asyncio

from claw.channels.media import FileRef, FileSaver
from claw.core.channel import ChannelDeps
from claw.core.errors import AuthError


def test_a_file_that_is_forbidden_does_not_stop_its_message(tmp_path):
    async def download(file_id):
        raise AuthError("Chat API error (403): Forbidden", status=403)

    saver = FileSaver(ChannelDeps(workspace=tmp_path, files=tmp_path),
                      download, most_bytes=9, sleep=asyncio.sleep)

    lines, found = asyncio.run(saver.save_all(
        [(FileRef("document", "1", "a.txt"), "a.txt")], lambda: None))

    assert found == []
    assert lines == ["[Document: a.txt could not be fetched: "
                     "Chat API error (403): Forbidden]"]
