"""Calls that carry a file: multipart/form-data.

Source: core.telegram.org/bots/api#sending-files, version 10.1.
"""

import json
from collections.abc import Mapping
from typing import Any

from claw.core.value import Value
from claw.net.lean import httpx


class Upload(Value):
    """A file of a call: the field it goes in, its name and bytes."""

    field: str
    name: str
    content: bytes


def multipart(params: Mapping[str, Any], upload: Upload
              ) -> tuple[bytes, dict[str, str]]:
    """A form with a file: its bytes and headers."""
    fields = {name: value if isinstance(value, str) else json.dumps(value)
              for name, value in params.items()}
    request = httpx.Request("POST", "http://form/", data=fields, files={
        upload.field: (upload.name, upload.content)})
    return request.read(), {"content-type": request.headers["content-type"]}
