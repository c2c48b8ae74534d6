"""The parameters of a Bot API call, however they were sent: query, JSON,
form or multipart. Source: core.telegram.org/bots/api, "Making requests"."""

import json
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qsl

from claw.testing.fake_telegram.errors import bad
from claw.testing.http_server import Request, parse_headers


@dataclass(frozen=True, slots=True)
class Upload:
    """A file in a multipart call."""

    file_name: str
    mime_type: str
    data: bytes = field(repr=False)


class Params(dict[str, Any]):
    """Parameters by name. `form` says that they came as texts."""

    form = False

    def integer(self, name: str, default: int | None = None) -> int | None:
        value = self.get(name)
        if value is None or value == "":
            return default
        try:
            if isinstance(value, int | str):
                return int(value)
        except ValueError:
            pass
        raise bad(f"invalid {name} specified")

    def text(self, name: str) -> str | None:
        value = self.get(name)
        if value is None or isinstance(value, Upload):
            return None
        return value if isinstance(value, str) else json.dumps(value)

    def flag(self, name: str) -> bool:
        value = self.get(name)
        return value is True or str(value).lower() in ("true", "1", "yes")

    def structure(self, name: str) -> Any:
        """A nested value, which may come JSON-serialised."""
        value = self.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise bad(f"can't parse {name} JSON object") from None


def read_params(request: Request) -> Params:
    """Query first, then the body, which wins."""
    params = Params()
    if request.query:
        params.update(parse_qsl(request.query, keep_blank_values=True))
        params.form = True
    if not request.body:
        return params
    header = request.headers.get("content-type", "")
    kind = header.partition(";")[0].strip().lower()
    if kind == "application/json":
        params.update(_json(request.body))
        params.form = False
    elif kind == "multipart/form-data":
        params.update(_multipart(header, request.body))
        params.form = True
    else:
        params.update(parse_qsl(_utf8(request.body),
                                keep_blank_values=True))
        params.form = True
    return params


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise bad("strings must be encoded in UTF-8") from None


def _json(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(_utf8(raw))
    except ValueError:
        raise bad("can't parse JSON object") from None
    if not isinstance(found, dict):
        raise bad("object expected as the body")
    return found


def _parameter(header: str, name: str, of: str = "content-type") -> str:
    """One parameter of a header line; "" when it has none."""
    message = Message()
    message[of] = header
    value = message.get_param(name, "", of)
    return value if isinstance(value, str) else value[2]


def _multipart(header: str, body: bytes) -> dict[str, Any]:
    boundary = _parameter(header, "boundary").encode()
    if not boundary:
        raise bad("no boundary in the multipart body")
    found: dict[str, Any] = {}
    for piece in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:]:
        if piece.startswith(b"--"):
            return found
        head, _, data = piece.partition(b"\r\n\r\n")
        headers = parse_headers(
            head.decode("utf-8", "replace").split("\r\n"))
        place = headers.get("content-disposition", "")
        field_name = _parameter(place, "name", "content-disposition")
        file_name = _parameter(place, "filename", "content-disposition")
        found[field_name] = Upload(
            file_name, headers.get("content-type",
                                   "application/octet-stream"), data) \
            if "filename" in place else _utf8(data)
    raise bad("the multipart body has no end")
