"""The messages of ACP version 1 that claw reads, as structs.

Fields that claw does not use are left out; msgspec passes over them, as the
protocol asks. What claw sends is plain dicts, written where it is made.
Source: agentclientprotocol.com/protocol/v1/schema, read 2026-11.
"""

from typing import Any, TypeAlias

import msgspec

VERSION = 1

# JSON-RPC 2.0, and the protocol's own.
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800

_NULL = msgspec.Raw(b"null")


class Wire(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a message."""


class Envelope(Wire, frozen=True):
    """Any message: a request has method and id, a notification no id, an
    answer no method. `id` may be null, so its absence is UNSET."""

    jsonrpc: str
    id: int | str | msgspec.UnsetType | None = msgspec.UNSET
    method: str | None = None
    params: msgspec.Raw = _NULL
    result: msgspec.Raw = _NULL
    error: msgspec.Raw = _NULL


class RpcError(Exception):
    """What a request is answered with instead of a result."""

    def __init__(self, code: int, message: str,
                 data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_json(self) -> dict[str, Any]:
        found = {"code": self.code, "message": self.message}
        return found if self.data is None else {**found, "data": self.data}


class CancelRequest(Wire, frozen=True):
    request_id: int | str


class Initialize(Wire, frozen=True):
    protocol_version: int


class Authenticate(Wire, frozen=True):
    method_id: str


class McpServer(Wire, frozen=True):
    name: str


class NewSession(Wire, frozen=True):
    cwd: str
    mcp_servers: list[McpServer]


class ResumeSession(Wire, frozen=True):
    session_id: str
    cwd: str
    mcp_servers: list[McpServer] = []


class LoadSession(ResumeSession, frozen=True):
    """The same, and what was said is shown."""


class ListSessions(Wire, frozen=True):
    """`cursor` is what the answer before gave as nextCursor."""

    cwd: str | None = None
    cursor: str | None = None


class OfSession(Wire, frozen=True):
    """session/cancel and session/close."""

    session_id: str


class SetMode(Wire, frozen=True):
    session_id: str
    mode_id: str


class TextBlock(Wire, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageBlock(Wire, frozen=True, tag_field="type", tag="image"):
    """`data` is base64."""

    data: str


class Resource(Wire, frozen=True):
    """What a resource holds: `text`, or `blob` as base64."""

    uri: str
    text: str | None = None
    blob: str | None = None


class ResourceBlock(Wire, frozen=True, tag_field="type", tag="resource"):
    resource: Resource


class LinkBlock(Wire, frozen=True, tag_field="type", tag="resource_link"):
    uri: str
    name: str


Block: TypeAlias = TextBlock | ImageBlock | ResourceBlock | LinkBlock


class Prompt(Wire, frozen=True):
    session_id: str
    prompt: list[Block]


class Outcome(Wire, frozen=True):
    """`outcome` is "selected" or "cancelled"."""

    outcome: str
    option_id: str | None = None


class PermissionAnswer(Wire, frozen=True):
    outcome: Outcome
