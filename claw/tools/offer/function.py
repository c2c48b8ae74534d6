"""A typed function as a tool.

    @claw.reads
    def check_assignments(course: str = "") -> str:
        '''What is still to be handed in.

        course: only of this course
        '''

The signature becomes the schema, the first paragraph of the docstring the
description; a line `name: text` describes a parameter (`:param name:`
and Google's form are read too). What may be a type: those that msgspec
turns into JSON Schema (jcristharif.com/msgspec/supported-types.html).
"""

import asyncio
import inspect
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import copy_context
from copy import deepcopy
from functools import partial
from itertools import islice
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    get_type_hints,
)

import msgspec
import msgspec.inspect

from claw.core.errors import DeniedError, UsageError
from claw.core.tool import Arguments, Schema, Tool, ToolDeps, ToolResult
from claw.tools.offer.checked import Denial

Effect: TypeAlias = Literal["reads", "acts", "asks"]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_MOST_GIVEN = 10_000
_DESCRIPTION_CHARS = 1_024
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")  # OpenAI's rule, less the hyphen
_TYPES = ("take str, int, float, bool, list, dict, a date, a Literal or a "
          "dataclass of these")
_EFFECT = "claw_effect"
_PARAMETER = re.compile(r"\s*(?::param\s+)?(\w+)\s*(?:\([^)]*\))?:\s+(\S.*)")


def reads(function: _Function) -> _Function:
    """The tool changes nothing: it runs unasked."""
    return _declare(function, "reads")


def acts(function: _Function) -> _Function:
    """The tool changes something: it asks unless the owner's settings let
    it run. So does a function that declares nothing."""
    return _declare(function, "acts")


def asks(function: _Function) -> _Function:
    """The tool asks before every call, whatever the settings allow."""
    return _declare(function, "asks")


def _declare(function: _Function, effect: Effect) -> _Function:
    setattr(function, _EFFECT, effect)
    return function


class FunctionTool(Tool):
    """One function. A plain one runs on a thread, an async one is awaited.

    What it returns is what the model reads: text, or any value as JSON.
    Raises UsageError for a signature that can be no schema.
    """

    name = "function"  # each has its own
    description = "A function of the owner's."

    def __init__(self, function: Callable[..., Any], deps: ToolDeps) -> None:
        self._function = function
        self._policy = deps.policy
        effect: Effect = getattr(function, _EFFECT, "acts")
        self.name = function.__name__
        self.reads, self.asks = effect == "reads", effect == "asks"
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"{self.name}: a tool's name is at most 64 letters, digits "
                "and _ of English", hint="rename the function; the text "
                "around it may be in any language")
        if inspect.isasyncgenfunction(function):
            raise UsageError(f"{self.name}: a tool can't yield with async",
                             hint="collect the values and return them")
        self._arguments = _build_arguments(function)
        self._schema = _build_schema(self._arguments)
        doc = inspect.getdoc(function) or ""
        self.description = " ".join(doc.split("\n\n")[0].split())[
            :_DESCRIPTION_CHARS]

    def parameters_schema(self) -> Schema:
        return deepcopy(self._schema)

    def problem(self, args: Arguments) -> str | None:
        """What is wrong with the arguments, before anyone is asked."""
        try:
            self._convert(args)
        except UsageError as error:
            return error.message
        return None

    async def execute(self, args: Arguments) -> ToolResult:
        try:
            given = self._convert(args)
            self._policy.enforce("read" if self.reads else "act")
        except UsageError as error:
            return ToolResult.failure(error.message)
        except DeniedError as error:
            return Denial.failure(error.message)
        call = partial(_call, self._function, given)
        try:
            value = await (self._function(**given)
                           if inspect.iscoroutinefunction(self._function)
                           else _run_on_thread(call))
            return value if isinstance(value, ToolResult) else ToolResult(
                output=_write(value))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return ToolResult.failure(_describe(error))
        except (Exception, SystemExit) as error:  # any code may raise anything
            return ToolResult.failure(_describe(error))

    def _convert(self, args: Arguments) -> dict[str, Any]:
        """The arguments in the types of the signature. Models write null
        for what they leave out. Raises UsageError."""
        if isinstance(args, Mapping):
            args = {name: value for name, value in args.items()
                    if value is not None}
        try:
            found = msgspec.convert(args, self._arguments, strict=False)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise UsageError(f"arguments: {error}") from error
        return {name: getattr(found, name)
                for name in found.__struct_fields__}


def _build_arguments(function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A struct with a field for each parameter."""
    hints = get_type_hints(function, include_extras=True)
    told = {match[1]: match[2] for line in (
        inspect.getdoc(function) or "").split("\n")[1:]
        if (match := _PARAMETER.fullmatch(line))}
    fields: list[Any] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD,
                                  parameter.KEYWORD_ONLY):
            raise UsageError(f"{function.__name__}: {parameter} can't be "
                             "told to a model", hint="give each parameter "
                             "a name and a type")
        if name in hints and isinstance(msgspec.inspect.type_info(
                hints[name]), msgspec.inspect.CustomType):
            raise UsageError(f"{function.__name__}: {parameter} is of no "
                             "type that JSON has", hint=_TYPES)
        if name not in hints:
            raise UsageError(
                f"{function.__name__}: the parameter {name} has no type",
                hint=f"such as {name}: str")
        kind: Any = Annotated[hints[name], msgspec.Meta(
            description=told.get(name, name.replace("_", " ")))]
        fields.append((name, kind) if parameter.default is parameter.empty
                      else (name, kind, _as_default(parameter.default)))
    return msgspec.defstruct(function.__name__, fields, kw_only=True,
                             forbid_unknown_fields=True)


def _build_schema(arguments: type[msgspec.Struct]) -> Schema:
    try:
        (reference,), parts = msgspec.json.schema_components(
            [arguments], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise UsageError(
            f"{arguments.__name__}: {str(error).splitlines()[-1]}",
            hint=_TYPES) from error
    schema: Schema = parts.pop(reference["$ref"].rpartition("/")[2])
    del schema["title"]
    if parts:
        schema["$defs"] = parts
    return schema


def _as_default(value: Any) -> Any:
    """msgspec wants a factory for what can be changed in place, unless it
    is empty."""
    if value and isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: value.copy())
    return value


async def _run_on_thread(call: Callable[[], Any]) -> Any:
    """What the call returns, from a thread of its own: one that hangs keeps
    neither claw's other threads nor its end waiting. Raises what the call
    raises, as a RuntimeError where a future can't hold it (StopIteration)
    or it would end the process."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(value: Any, error: Exception | None) -> None:
        if done.done():
            return  # a stopped turn waits no more
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value, failed = None, None
        try:
            value = context.run(call)
        except BaseException as error:  # any code may raise anything
            failed = (error if isinstance(error, Exception)
                      and not isinstance(error, StopIteration)
                      else RuntimeError(_describe(error)))
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(settle, value, failed)

    threading.Thread(target=run, name="tool", daemon=True).start()
    return await done


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _call(function: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """What it returns; of a generator what it gives, as a list."""
    value = function(**given)
    return list(islice(value, _MOST_GIVEN)) if isinstance(
        value, Iterator) else value


def _write(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value, enc_hook=str).decode()
