"""Calls that carry a file: multipart/form-data with payload_json.

Source: docs.discord.com/developers, reference#uploading-files.
"""

import json
from typing import Any

from claw.core.value import Value
from claw.net.lean import httpx


class Upload(Value):
    """The file of a call: its name and bytes, and perhaps its type."""

    name: str
    content: bytes
    mime_type: str | None = None


def multipart(body: Any, upload: Upload) -> tuple[bytes, dict[str, str]]:
    """A form with the call's JSON and the file: its bytes and headers."""
    file = (upload.name, upload.content, upload.mime_type) \
        if upload.mime_type else (upload.name, upload.content)
    request = httpx.Request("POST", "http://form/", files={
        "payload_json": (None, json.dumps(body), "application/json"),
        "files[0]": file})
    return request.read(), {"content-type": request.headers["content-type"]}
