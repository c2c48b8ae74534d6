"""The events of hooks as JSON: what a program reads of one, and what of it an
answer may change. Pure.

Names are those that other agents use where there are any: hook_event_name,
session_id, tool_name, tool_input, tool_response.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from claw.core.channel import ChannelMessage, SendMessage
from claw.core.provider import ChatMessage, ChatResponse
from claw.core.tool import ToolResult
from claw.core.value import Value, made, replace

Fields = Mapping[str, Any]


class Event(Value):
    """`write` gives the fields of a hook's arguments, `read` the arguments
    of fields (for tries). `changes` are the fields that an answer may
    change, each with its type; `stops` says whether it may cancel."""

    write: Callable[..., dict[str, Any]]
    read: Callable[[Fields], tuple[Any, ...]]
    sample: Fields
    changes: Mapping[str, type] = made(factory=dict)
    stops: bool = False


def _plain(sample: Fields, *changes: str, stops: bool = False) -> Event:
    """An event whose arguments are its fields, in this order."""
    names = tuple(sample)
    return Event(
        lambda *arguments: dict(zip(names, arguments, strict=True)),
        lambda fields: tuple(fields[name] for name in names),
        sample, {name: type(sample[name]) for name in changes}, stops)


def _write_messages(messages: Any, model: str) -> dict[str, Any]:
    return {"messages": [{"role": m.role, "content": m.content}
                         for m in messages], "model": model}


def _read_messages(fields: Fields) -> tuple[Any, ...]:
    return ([ChatMessage(m["role"], m["content"])
             for m in fields["messages"]], fields["model"])


def _write_incoming(message: ChannelMessage) -> dict[str, Any]:
    return {"channel": message.channel, "sender": message.sender,
            "sender_name": message.sender_name, "id": message.id,
            "reply_target": message.reply_target,
            "thread": message.thread_ts, "labels": list(message.labels),
            "attachments": [file.path for file in message.attachments],
            "content": message.content}


def _read_incoming(fields: Fields) -> tuple[ChannelMessage]:
    return (ChannelMessage(
        fields["id"], fields["sender"], fields["reply_target"],
        fields["content"], fields["channel"], 0,
        labels=tuple(fields.get("labels", ())),
        sender_name=fields.get("sender_name", "")),)


def _write_sent(channel: str, message: SendMessage) -> dict[str, Any]:
    return {"channel": channel, "recipient": message.recipient,
            "thread": message.thread_ts, "subject": message.subject,
            "attachments": [file.path for file in message.attachments],
            "content": message.content}


def _read_sent(fields: Fields) -> tuple[str, SendMessage]:
    return fields["channel"], SendMessage(
        fields["content"], fields["recipient"], fields.get("subject"),
        fields.get("thread"))


def _write_output(response: ChatResponse) -> dict[str, Any]:
    return {"text": response.text, "model": response.model,
            "tool_calls": [{"tool_name": call.name,
                            "arguments": call.arguments}
                           for call in response.tool_calls]}


def _write_result(tool: str, result: ToolResult, duration_s: float,
                  args: Mapping[str, Any]) -> dict[str, Any]:
    return {"tool_name": tool, "tool_input": dict(args),
            "tool_response": {"success": result.success,
                              "output": result.output},
            "duration_ms": round(duration_s * 1000)}


def _read_result(fields: Fields) -> tuple[Any, ...]:
    response = fields["tool_response"]
    return (fields["tool_name"], ToolResult(response["output"],
                                            response["success"]),
            fields["duration_ms"] / 1000, fields["tool_input"])


_MESSAGES: Fields = {"messages": [{"role": "user", "content": "Hello"}],
                     "model": "example-model"}
_CALL: Fields = {"tool_name": "shell",
                 "tool_input": {"command": "git push origin main"}}
_SESSION: Fields = {"session_id": "work", "channel": "agent"}
_TEXT: Fields = {"channel": "example", "recipient": "1001",
                 "content": "Dinner is at seven."}

EVENTS: dict[str, Event] = {
    "before_model_resolve": _plain(
        {"provider": "example", "model": "example-model"},
        "provider", "model", stops=True),
    "before_prompt_build": _plain({"prompt": "You are helpful."}, "prompt",
                                  stops=True),
    "before_llm_call": Event(_write_messages, _read_messages, _MESSAGES,
                             {"model": str}, stops=True),
    "before_tool_call": _plain(_CALL, "tool_input", stops=True),
    "on_message_received": Event(
        _write_incoming, _read_incoming,
        {"channel": "example", "sender": "1001", "sender_name": "Mina",
         "id": "17", "reply_target": "1001", "content": "What is new?"},
        {"content": str}, stops=True),
    "on_message_sending": _plain(_TEXT, "content", stops=True),
    "on_gateway_start": _plain({"host": "127.0.0.1", "port": 8790}),
    "on_gateway_stop": _plain({}),
    "on_session_start": _plain(_SESSION),
    "on_session_end": _plain(_SESSION),
    "on_llm_input": Event(_write_messages, _read_messages, _MESSAGES),
    "on_llm_output": Event(
        _write_output,
        lambda fields: (ChatResponse(fields["text"],
                                     model=fields.get("model")),),
        {"text": "Hello!", "model": "example-model"}),
    "on_after_tool_call": Event(
        _write_result, _read_result,
        {**_CALL, "tool_response": {"success": True, "output": "done"},
         "duration_ms": 12}),
    "on_message_sent": Event(_write_sent, _read_sent, _TEXT),
    "on_heartbeat_tick": _plain({}),
}


def write_event(event: str, arguments: tuple[Any, ...]) -> bytes:
    """What a program reads: one JSON object and a line end."""
    fields = {"hook_event_name": event, **EVENTS[event].write(*arguments)}
    return msgspec.json.encode(fields, enc_hook=str) + b"\n"


def read_event(event: str, fields: Fields) -> tuple[Any, ...]:
    """The arguments of a hook, of the sample with these fields in it.
    Raises ValueError."""
    sample = EVENTS[event].sample
    for name, value in sample.items():
        if not isinstance(fields.get(name, value), type(value)):
            raise ValueError(f"{name!r} is no {type(value).__name__}")
    try:
        arguments = EVENTS[event].read({**sample, **fields})
        write_event(event, arguments)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"these are no fields of {event}: {error}"
                         ) from error
    return arguments


def change(event: str, arguments: tuple[Any, ...], changed: Fields
           ) -> Any:
    """What a hook returns for these changes. Raises ValueError for a field
    that is not there to be changed, and for one of the wrong type."""
    allowed = EVENTS[event].changes
    for name, value in changed.items():
        if name not in allowed:
            raise ValueError(f"{name!r} can't be changed here")
        if not isinstance(value, allowed[name]):
            raise ValueError(f"{name!r} is no {allowed[name].__name__}")
    if not EVENTS[event].stops:
        return None
    first = arguments[0]
    if isinstance(first, ChannelMessage):
        return replace(first, **changed)
    fields = EVENTS[event].write(*arguments)
    made = tuple(changed.get(name, value) for name, value in zip(
        fields, arguments, strict=True))
    return made if len(made) > 1 else made[0]
