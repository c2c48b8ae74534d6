"""Does a provider work? The probes of `claw provider test` and `doctor`.

Each probe is a real, tiny request and one row: what was seen, and when it
failed the cause and the next step. What depends on a failed probe is not
tried. A model that merely can't do something is no failure of the provider.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from difflib import get_close_matches
from typing import Literal, cast

from claw.core.errors import (
    AuthError,
    Cause,
    ClawError,
    ExitCode,
    IncompleteAnswerError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    TokenUsage,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import Value, replace
from claw.net.errors import is_page
from claw.providers.catalog.choice import no_answer
from claw.providers.catalog.info import KeepsModelInfo, ModelInfo
from claw.text.plural import plural

# The probes of one provider; all but "reach", "key", "model" and "usage" are
# requests of their own.
PAID = ("answer, stream, tools and vision ask the model: up to 5 short "
        "requests, which may cost money")
ASKED = "Answer with the word OK."
_LIST_S = 10.0
_TOKENS = 400  # room for a model that thinks first
_TOOL = ToolSpec(
    "report_word", "Reports a word. Call it with the word OK.",
    closed_object(word=string("the word to report")))
# A red square of 32 x 32; some models take none smaller than 28.
_PICTURE = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAJ0lEQVR42u3N"
    "sQkAAAjAsP7/tF7hIASyp6lTCQQCgUAgEAgEgi/BAjLD/C5w/SM9AAAAAElF"
    "TkSuQmCC")
_NO_IMAGES = (400, 404, 415, 422, 500, 501)
_BLIND = ("image", "vision", "multimodal", "mmproj", "modalit", "image_url")


class Check(Value):
    """One probe. `id` is stable: reach, key, model, answer, stream, tools,
    vision (where the provider sees), usage; "config" where the provider
    can't be built.

    `code` is the exit code that a failure deserves, `ms` how long it took;
    for "stream" until the first words; `cause` why it failed, where that
    is known. `warns`: it is well, and its hint worth reading.
    """

    id: str
    ok: bool
    detail: str
    hint: str | None = None
    ms: int | None = None
    code: ExitCode = ExitCode.DONE
    cause: Cause | None = None
    warns: bool = False

    @property
    def status(self) -> Literal["ok", "warn", "fail"]:
        return "fail" if not self.ok else "warn" if self.warns else "ok"


async def check_provider(provider: Provider, model: str, *,
                         clock: Callable[[], float] = time.monotonic,
                         model_info: KeepsModelInfo | None = None,
                         address: str = "", has_key: bool = True,
                         native: Provider | None = None,
                         look_s: float | None = None,
                         hear: Callable[[Check], None] = lambda _: None
                         ) -> list[Check]:
    """Every probe of one provider, in the order of the table. `has_key`:
    a key goes with the requests.

    What the probe of the tools finds out is kept in `model_info` for the model
    at this `address`; without either it is forgotten. `native` is the same
    provider told to offer tools in the API's own format, for one that does
    not by default: it is asked when nobody knows yet whether this model
    could. All of them have to be made with the same `model_info`. A
    server that does not list its models within `look_s`, nor refuses to, is
    asked nothing else. `hear` is told of each row as it is known.
    """
    if look_s is not None and (silent := await _look(provider, look_s)):
        hear(silent)
        return [silent]
    probes = _Probes(provider, model, clock, model_info, address, native)
    checks = []
    async for check in probes.run(has_key):
        checks.append(check)
        hear(check)
    return checks


async def check_answer(provider: Provider, model: str, *,
                       has_key: bool = True,
                       clock: Callable[[], float] = time.monotonic
                       ) -> list[Check]:
    """The first of these probes, one request: reach, key, model, answer."""
    return await _Probes(provider, model, clock, None, "",
                         None).answer(has_key)


async def _look(provider: Provider, look_s: float) -> Check | None:
    """The failed row of a server that says nothing; None where it says
    anything at all."""
    try:
        async with asyncio.timeout(look_s):
            await provider.models()
    except TimeoutError:
        return _failure("reach", no_answer(look_s), None)
    except ClawError:
        pass  # the question tells why
    return None


class _Probes:
    def __init__(self, provider: Provider, model: str,
                 clock: Callable[[], float], model_info: KeepsModelInfo | None,
                 address: str, native: Provider | None) -> None:
        self._provider = provider
        self._model = model
        self._clock = clock
        self._keeper = model_info if address else None
        self._address = address
        self._twin = native
        self._request = ChatRequest([ChatMessage.user(ASKED)],
                                    max_tokens=_TOKENS)
        self._counted: dict[str, TokenUsage | None] = {}

    async def run(self, has_key: bool) -> AsyncIterator[Check]:
        """All rows, in order; those behind a failed answer are not tried."""
        answered = await self.answer(has_key)
        for check in answered:
            yield await self._compare(check) \
                if check.ok and check.id == "model" else check
        if not answered[-1].ok:
            return
        yield await self.stream()
        yield await self.tools()
        if self._provider.supports_vision():
            yield await self.vision()
        yield self.usage()

    async def answer(self, has_key: bool) -> list[Check]:
        """Reach, key, model and a plain answer: one request tells all."""
        start = self._clock()
        try:
            response = await self._ask(self._request)
        except ClawError as error:
            return explain_failure(error, self._model, self._ms(start))
        ms = self._ms(start)
        self._counted["answers"] = response.usage
        text = " ".join((response.text or "").split())
        return [Check("reach", True, "it answers"),
                Check("key", True, "it is accepted" if has_key
                      else "none is set, and none was asked for"),
                Check("model", True, response.model or self._model),
                Check("answer", True, text if len(text) <= 40
                      else text[:39] + "…", ms=ms)]

    async def _compare(self, check: Check) -> Check:
        """The row of the model with a warning where the server's own list
        has neither this one nor the one that answered."""
        if asks_deployment(self._provider):
            return check
        try:
            async with asyncio.timeout(_LIST_S):
                listed = await self._provider.models()
        except (ClawError, TimeoutError):
            return check  # it answers, list or not
        known = {_shorten(name) for name in listed}
        if not known or not known.isdisjoint(
                map(_shorten, (self._model, check.detail))):
            return check
        near = get_close_matches(self._model, listed, n=3)
        return replace(
            check, warns=True,
            detail=f"{check.detail}, which the server's list lacks",
            hint="near it: " + ", ".join(near) if near
            else f"the list has {plural(len(listed), 'model')}, and none "
                 "of a name like it")

    async def stream(self) -> Check:
        """Deltas, and the time until the first one."""
        if not self._provider.supports_streaming():
            return Check("stream", True, "not offered; answers come whole")
        start, first, pieces = self._clock(), None, 0
        whole: ChatResponse | None = None
        try:
            chunks = cast("AsyncGenerator[StreamChunk]",
                          self._provider.stream_chat(self._request,
                                                     self._model, 0.0))
            async with aclosing(chunks):
                async for chunk in chunks:
                    whole = chunk.response or whole
                    if chunk.delta:
                        pieces += 1
                        first = self._ms(start) if first is None else first
            if whole is None:
                raise IncompleteAnswerError(
                    "the stream ended before the answer did",
                    hint="try again")
        except ClawError as error:
            return _failure("stream", error, self._ms(start))
        self._counted["streams"] = whole.usage
        return Check("stream", True, f"first words after {first or 0} ms, "
                     + plural(pieces, "piece"), ms=first)

    async def tools(self) -> Check:
        """Whether the model calls a tool when asked to, and how."""
        before, start = self._known(), self._clock()
        try:
            native, called = await self._call(self._provider)
            if not native and before.native_tools is None and self._twin:
                native, called = await self._try_native(called)
        except ClawError as error:
            return _failure("tools", error, self._ms(start))
        if native and called and before.native_tools is not True:
            self._learn(True)
        return Check("tools", True, _tools_detail(native, called)
                     + _since(before, native), ms=self._ms(start))

    async def _call(self, provider: Provider) -> tuple[bool, bool]:
        """Whether tools go out in the API's own format, and whether a call
        came back."""
        request = ChatRequest(
            [ChatMessage.user("Call the tool report_word with the word OK.")],
            tools=[_TOOL], max_tokens=_TOKENS)
        response = await provider.chat(request, self._model, 0.0)
        called = response.tool_calls or "<tool_call>" in (response.text or "")
        return await self._is_native(provider), bool(called)

    async def _try_native(self, called: bool) -> tuple[bool, bool]:
        """The same for the twin; where it fails or makes no call, tools
        stay in the prompt."""
        assert self._twin is not None
        try:
            native = await self._call(self._twin)
        except UnavailableError as error:
            if error.status is None:
                raise
            native = (False, False)
        if native == (True, True):
            return native
        self._learn(False)
        return False, called

    async def vision(self) -> Check:
        """Whether a picture is taken; what is said of it proves nothing."""
        request = ChatRequest(
            [ChatMessage.user("Which colour is this? One word.\n"
                              f"[IMAGE:{_PICTURE}]")], max_tokens=_TOKENS)
        start = self._clock()
        try:
            await self._ask(request)
        except UnavailableError as error:
            if error.status in _NO_IMAGES and any(
                    word in error.message.lower() for word in _BLIND):
                return Check("vision", True, "the model takes no images",
                             ms=self._ms(start))
            return _failure("vision", error, self._ms(start))
        except ClawError as error:
            return _failure("vision", error, self._ms(start))
        return Check("vision", True, "images are taken", ms=self._ms(start))

    def usage(self) -> Check:
        """Whether tokens are counted: costs and limits need it."""
        silent = [where for where, usage in self._counted.items()
                  if usage is None or usage.input_tokens is None]
        if len(silent) == len(self._counted):
            return Check("usage", True, "tokens are not counted; costs and "
                                        "limits go by estimates")
        used = next(u for u in self._counted.values()
                    if u is not None and u.input_tokens is not None)
        detail = (f"tokens are counted: {used.input_tokens} in, "
                  f"{used.output_tokens or 0} out")
        if silent:
            detail += f", but not in {silent[0]}"
        return Check("usage", True, detail)

    async def _ask(self, request: ChatRequest) -> ChatResponse:
        return await self._provider.chat(request, self._model, 0.0)

    async def _is_native(self, provider: Provider) -> bool:
        """A provider that finds it out while asking tells it by
        `takes_tools`, or by what it learned."""
        asks = getattr(provider, "takes_tools", None)
        if asks is not None:
            return bool(await asks(self._model))
        known = self._known().native_tools
        return provider.supports_native_tools() if known is None else known

    def _known(self) -> ModelInfo:
        return ModelInfo() if self._keeper is None \
            else self._keeper.find(self._address, self._model)

    def _learn(self, native: bool) -> None:
        if self._keeper is not None:
            self._keeper.learn(self._address, self._model, replace(
                self._known(), native_tools=native, checked_at=""))

    def _ms(self, start: float) -> int:
        return max(0, round((self._clock() - start) * 1000))


def asks_deployment(provider: Provider) -> bool:
    """Whether what it is asked for is not what its list names."""
    return bool(getattr(provider, "asks_deployment", False))


def _shorten(model: str) -> str:
    """A name without what lists and requests write differently."""
    return model.lower().removeprefix("models/").partition(":")[0]


def _tools_detail(native: bool, called: bool) -> str:
    if native:
        return "the model calls them" if called \
            else "accepted, but the model made no call"
    return "described in the prompt; the model calls them" if called \
        else "described in the prompt, but the model made no call"


def _since(before: ModelInfo, native: bool) -> str:
    """When the same was found out the last time."""
    return "" if before.native_tools is not native or not before.checked_at \
        else f" (known since {before.checked_at[:10]})"


def explain_failure(error: ClawError, model: str, ms: int) -> list[Check]:
    """The rows up to the one at which a request failed: what was seen, and
    nothing else. Whether a key is good shows in an answer alone."""
    status = getattr(error, "status", None)
    if isinstance(error, AuthError) and status is None:
        return [_failure("key", error, None)]  # nobody was asked
    if isinstance(error, IncompleteAnswerError):
        return [_failure("answer", error, ms)]
    if status is None:
        return [_failure("reach", error, ms)]
    says_model = "model" in error.message.partition("): ")[2].lower()
    if is_page(error) or _is_elsewhere(status, says_model):
        return [replace(_failure("reach", error, ms),
                        code=ExitCode.UNAVAILABLE)]
    reached = Check("reach", True, f"it answers (HTTP {status})")
    name = "key" if isinstance(error, AuthError) else \
        "model" if isinstance(error, RequestRefusedError) and says_model \
        else "answer"
    return [reached, _failure(name, error, ms)]


def _is_elsewhere(status: int, says_model: bool) -> bool:
    """Whether what answered is not the API: a proxy that wants a login, a
    portal, another address, a path where nothing is."""
    return status < 400 or status in (405, 407, 511) \
        or (status == 404 and not says_model)


def explain_unbuilt(error: ClawError) -> Check:
    """The row of a provider that could not even be built or given a
    model."""
    kind = "key" if isinstance(error, AuthError) else \
        "reach" if isinstance(error, UnavailableError) else "config"
    return _failure(kind, error, None)


def find_worst_code(checks: list[Check]) -> ExitCode:
    """The exit code for many checks."""
    return max((c.code for c in checks if not c.ok), default=ExitCode.DONE)


def _failure(name: str, error: ClawError, ms: int | None) -> Check:
    return Check(name, False, error.message, error.hint, ms, error.exit_code,
                 error.cause)
