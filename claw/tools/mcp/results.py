"""What a call of an MCP tool gave, as the text that a model reads. Pure."""

import json
from collections.abc import Sequence

from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from claw.core.tool import ToolResult


def read_result(result: CallToolResult, asked: Sequence[str] = ()
                ) -> ToolResult:
    """The parts of the answer, one below the other, and what the server
    `asked` on the way; a structured answer alone is shown as JSON."""
    parts = [_render(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    parts += [f"[the server asked: {each}]" for each in asked]
    text = "\n".join(parts)
    return ToolResult.failure(text or "the tool failed") \
        if result.is_error else ToolResult(text)


def _render(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    if isinstance(block, ImageContent | AudioContent):
        return f"[{block.mime_type}, {_count(block.data)} bytes, not shown]"
    if isinstance(block, ResourceLink):
        return f"[{block.name}: {block.uri}]"
    assert isinstance(block, EmbeddedResource)
    found = block.resource
    if isinstance(found, TextResourceContents):
        return f"[{found.uri}]\n{found.text}"
    return f"[{found.uri}: {found.mime_type or 'data'}, " \
           f"{_count(found.blob)} bytes, not shown]"


def _count(data: str) -> int:
    """The bytes that a text in base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")
