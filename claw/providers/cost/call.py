"""One call of a model: reserved before, settled after.

Before a call its cost is thought to be the prompt (four bytes a token,
1,600 tokens an image) and an answer of `max_tokens`, or of 4,096. After it
the vendor's count has the say. Where there is none (an answer without
usage, a stream that broke or was left) the cost is that of what was sent
and read, marked as estimated. A budget (--max-cost) is never passed: there
a prompt is thought to have a token for each byte, which is the most that
one can have, the request says how long the answer may be, and a call whose
cost nobody counted costs all that was reserved. An empty answer that was
asked for once more is paid for, too. Nothing is paid for a call that was
refused; one that no server had (no key, no connection) is no call and leaves
no record.

A ledger that can't be written stops a call that a limit should guard; where
there is no limit or nothing to pay it is said, once. After a call it is
only said: no answer is lost for it.
"""

import asyncio
import json
import math
import re
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

from claw.core.errors import (
    AuthError,
    BudgetError,
    ClawError,
    ConfigError,
    IncompleteAnswerError,
    MissingPartError,
    StorageError,
    UnavailableError,
    UsageError,
)
from claw.core.ledger import (
    CallEnd,
    CallStart,
    Ledger,
    Limits,
    Reservation,
    current_attempt,
    dollars,
    lowest,
    price_hint,
    unused_answers,
)
from claw.core.provider import ChatRequest, ChatResponse, TokenUsage
from claw.core.turn import Budget, TurnContext, current_turn
from claw.core.value import Value, replace
from claw.net.errors import was_late, was_unsent
from claw.providers.cost.prices import Price, Prices
from claw.providers.settings import CostSettings

T = TypeVar("T")

ANSWER_TOKENS = 4096
_LEAST_ANSWER = 16  # the smallest limit that all vendors take
IMAGE_TOKENS = 1600
_FRAME_TOKENS = 64  # what vendors put around messages
_TOOLS_TOKENS = 1000  # and before tools
WAIT_S = 15.0  # for another process that writes
_MOST = 10**12  # tokens: past it a count is nonsense
_IMAGE = r"\[IMAGE:data:[^\]]*\]"
_UNASKED = (AuthError, ConfigError, MissingPartError, UsageError)
_LEFT = (asyncio.CancelledError, GeneratorExit, KeyboardInterrupt)


class Terms(Value):
    """What all calls of a provider share (see MeteredProvider).

    `limits_set`: the owner set the limits, so nothing is called that they
    could not count. `answer_tokens` is what an answer is taken to be at
    most where nobody says how long it may be.
    """

    name: str
    local: bool
    ledger: Ledger
    prices: Prices
    limits: CostSettings
    daily_cents: int
    notify: Callable[[str], None]
    said: set[str]
    limits_set: bool = False
    answer_tokens: int = ANSWER_TOKENS

    def say(self, what: str, text: str) -> None:
        """Say it once."""
        if what not in self.said:
            self.said.add(what)
            self.notify(text)

    def price(self, model: str, answered: str | None = None
              ) -> Price | None:
        return self.prices.find(self.name, model, local=self.local,
                              answered=answered)


class MeteredCall:
    """`async with` reserves; `answered`, `said` or `ended` settles, and
    leaving by an error does where none of them was reached."""

    def __init__(self, terms: Terms, request: ChatRequest, model: str,
                 streamed: bool) -> None:
        self._terms = terms
        self.request = request
        self._model = model
        self._streamed = streamed
        self._settled = False
        self._reservation: Reservation
        self._began = 0.0
        self._first: float | None = None
        self._read = 0  # bytes
        self._budget: Budget | None = None
        self._held = 0.0
        self._unused: list[TokenUsage | None] = []

    async def __aenter__(self) -> "MeteredCall":
        terms, turn = self._terms, current_turn.get()
        price = terms.price(self._model)
        self._budget = None if turn is None else turn.budget
        self._limit_answer(price)
        estimate = None if price is None else self._estimate(price)
        limits = find_limits(terms, turn, is_free=bool(price and price.free))
        check_call(terms, self._model, estimate, limits)
        start = build_start(terms.name, self._model, estimate, turn,
                       self._streamed)
        if self._budget is not None:
            await self._budget.hold(estimate or 0.0)
            self._held = estimate or 0.0
        try:
            self._reservation = await self._reserve(start, limits)
        except BaseException:
            self._give_back(0.0)
            raise
        self._warn(limits)
        self._unused = unused_answers()
        self._began = time.monotonic()
        return self

    async def __aexit__(self, kind: type[BaseException] | None,
                        error: BaseException | None,
                        trace: TracebackType | None) -> None:
        if error is not None:
            await self._failed(error)

    def heard(self, delta: str) -> None:
        """A piece of the answer came."""
        if self._first is None:
            self._first = time.monotonic()
        self._read += _size(delta)

    async def answered(self, response: ChatResponse) -> ChatResponse:
        """The whole answer, which it gives back."""
        await self.ended(response)
        return response

    async def said(self, text: str) -> str:
        """An answer of which nothing but the text is known."""
        await self.ended(ChatResponse(text))
        return text

    async def ended(self, response: ChatResponse | None) -> None:
        """It ended well."""
        response = response or ChatResponse()
        self._read = max(self._read, _size(response.text or "") + sum(
            _size(call.name) + _size(call.arguments)
            for call in response.tool_calls))
        await self._settle("ok", response.model,
                           [*self._unused, response.usage])

    async def ran_out(self) -> None:
        """The stream is over; without its last chunk it was broken."""
        await self._settle(IncompleteAnswerError.kind, None,
                           [*self._unused, None])

    async def _failed(self, error: BaseException) -> None:
        paid = list(self._unused)
        if not (paid or self._read) and was_never_made(error):
            await self._release()
            return
        if self._read or (was_read(error) and not (
                paid and isinstance(error, IncompleteAnswerError))):
            paid.append(None)  # one more, of which nothing is known
        await self._settle(find_outcome(error), None, paid)

    async def _settle(self, outcome: str, answered: str | None,
                      paid: Sequence[TokenUsage | None]) -> None:
        """`paid` are the answers, the last one is what was read."""
        if self._settled:
            return
        self._settled = True
        terms, now = self._terms, time.monotonic()
        cost, estimated = self._cost(
            terms.price(self._model, answered), paid)
        self._give_back(max(cost or 0.0, self._held) if estimated
                        else cost or 0.0)
        end = CallEnd(
            outcome, answered, _sum(paid, "input_tokens"),
            _sum(paid, "output_tokens"), _sum(paid, "cached_input_tokens"),
            _sum(paid, "cache_write_tokens"), cost, estimated,
            None if self._first is None else _ms(self._first - self._began),
            _ms(now - self._began))
        try:
            await _patiently(lambda wait_s: terms.ledger.settle(
                self._reservation, end, wait_s=wait_s))
        except (StorageError, UnavailableError) as error:
            terms.say("unwritten", "a call was not recorded: "
                     + error.message)

    def _cost(self, price: Price | None, paid: Sequence[TokenUsage | None]
              ) -> tuple[float | None, bool]:
        """What it cost, and whether that is but an estimate."""
        if not paid or (price is not None and price.free):
            return 0.0, False
        if price is None:
            return None, False
        total, estimated = 0.0, False
        for number, usage in enumerate(paid, 1):
            usage = usage or TokenUsage()
            sent = _count(usage.input_tokens)
            said = _count(usage.output_tokens)
            estimated = estimated or sent is None or said is None
            if said is None:
                said = -(-self._read // 4) if number == len(paid) else 0
            total += price.cost(
                self._prompt_tokens() if sent is None else sent, said,
                _count(usage.cached_input_tokens) or 0,
                _count(usage.cache_write_tokens) or 0)
        return total, estimated

    def _give_back(self, cost: float) -> None:
        """Tell the budget, where there is one, what the call did cost."""
        if self._budget is not None:
            self._budget.settle(self._held, cost)
            self._budget = None

    def _limit_answer(self, price: Price | None) -> None:
        """Under a budget the request says how long the answer may be, with
        no more than is left. Raises ConfigError where that is not all that
        is paid."""
        if self._budget is None or not self._budget.is_limited \
                or price is None or price.free:
            return
        if price.fees:
            raise ConfigError(
                f"--max-cost can't be kept: {self._model} searches, for a "
                "fee beside its tokens",
                hint="choose another model with -m, or leave out --max-cost")
        wanted = self._answer_tokens()
        left = self._budget.answer_usd
        if left is not None:
            wanted = min(wanted, max(_LEAST_ANSWER, price.count_affordable(
                count_most_tokens(self.request, price), left)))
        self.request = replace(self.request, max_tokens=wanted)

    def _answer_tokens(self) -> int:
        wanted = self.request.max_tokens
        return self._terms.answer_tokens if wanted is None else wanted

    def _estimate(self, price: Price) -> float:
        """The most it may cost."""
        if price.free:
            return 0.0
        if self._budget is not None and self._budget.is_limited:
            return price.most(count_most_tokens(self.request, price),
                              self._answer_tokens())
        return price.cost(self._prompt_tokens(), self._answer_tokens())

    def _prompt_tokens(self) -> int:
        size, images = _measure(self.request)
        return -(-size // 4) + images * IMAGE_TOKENS

    async def _reserve(self, start: CallStart,
                       limits: Limits) -> Reservation:
        terms = self._terms
        try:
            return await _patiently(
                lambda wait_s: terms.ledger.reserve(start, limits,
                                                   wait_s=wait_s),
                self._undo)
        except (StorageError, UnavailableError) as error:
            if start.estimate_usd and limits != Limits():
                raise StorageError(
                    "no call is paid for while its cost can't be "
                    f"recorded: {error.message}", hint=error.hint) from error
            terms.say("unwritten", f"calls are not recorded: {error.message}"
                     + (f" ({error.hint})" if error.hint else ""))
            return Reservation(None, start)

    async def _release(self) -> None:
        """There was no call: no server had it."""
        self._settled = True
        self._give_back(0.0)
        try:
            await _patiently(lambda wait_s: self._terms.ledger.release(
                self._reservation, wait_s=wait_s))
        except (StorageError, UnavailableError) as error:
            self._terms.say("unwritten", error.message)

    def _undo(self, reservation: Reservation) -> None:
        """It was reserved too late: nobody waits any more. What can't be
        released counts as spent."""
        try:
            self._terms.ledger.release(reservation)
        except (StorageError, UnavailableError) as error:
            self._terms.say("unwritten", error.message)

    def _warn(self, limits: Limits) -> None:
        """Say that a limit is near, and that a model has no price."""
        terms, settings = self._terms, self._terms.limits
        spent = self._reservation.spent
        for name, used, limit in (
                ("daily", spent.day_usd, limits.daily_usd),
                ("monthly", spent.month_usd, limits.monthly_usd)):
            if settings.warn_at_percent and limit \
                    and used * 100 >= limit * settings.warn_at_percent:
                terms.say(name, f"{dollars(used)} of the {name} limit of "
                         f"{dollars(limit)} is spent (see: claw cost)")
        if self._reservation.first and limits != Limits():
            terms.say(f"price {self._model}",
                     f"no whole price of {self._model} is known, so limits do "
                     f"not count it ({price_hint(self._model)})")


def find_limits(terms: Terms, turn: TurnContext | None, *,
                is_free: bool) -> Limits:
    """What holds for a call: nothing where nothing is paid."""
    settings, cents = terms.limits, terms.daily_cents / 100
    if is_free:
        return Limits()
    asked = None if turn is None else turn.max_cost_usd
    most = min((limit for limit in (asked, turn.limit_usd if turn else None)
                if limit is not None), default=None)
    own = None if turn is None else turn.day_limit_usd
    if not settings.enabled or (settings.allow_override
                                and asked is not None):
        return Limits(turn_usd=most, channel_usd=own)
    daily = lowest(settings.daily_limit_usd, cents)
    return Limits(daily or None, settings.monthly_limit_usd or None, most,
                  own,
                  0 < daily < (settings.daily_limit_usd or daily + 1))


def check_call(terms: Terms, model: str, estimate: float | None,
               limits: Limits, kind: str = "chat") -> None:
    """Raise BudgetError or ConfigError for what no ledger is needed to
    refuse."""
    settings = terms.limits
    guarded = limits.turn_usd is not None \
        or limits.channel_usd is not None or (
        terms.limits_set and settings.enabled
        and bool(limits != Limits() or settings.per_call_limit_usd))
    if estimate is None and guarded:
        which = "gateway.daily_limit_usd" if limits.channel_usd is not None \
            else "--max-cost" if limits.turn_usd is not None \
            else "the limits of [cost] and [autonomy]"
        raise ConfigError(
            f"{which} can't be kept: no whole price of {model} is known",
            hint=price_hint(model, kind))
    most = settings.per_call_limit_usd
    if settings.enabled and most and (estimate or 0.0) > most:
        raise BudgetError(
            f"Budget exceeded: {dollars(estimate or 0.0)} of "
            f"{dollars(most)} per-call limit is what a call of {model} may "
            "cost",
            hint="--max-tokens makes a call cheaper; raise it with: claw "
                 "config set cost.per_call_limit_usd "
                 f"{math.ceil(max(most, estimate or 0.0) * 200) / 100:g}")


def build_start(name: str, model: str, estimate: float | None,
                turn: TurnContext | None, streamed: bool = False,
                kind: str = "chat") -> CallStart:
    attempt = current_attempt.get()
    if turn is None:
        return CallStart(name, model, estimate, streamed=streamed,
                         attempt=attempt, kind=kind)
    return CallStart(name, model, estimate, turn.turn_id, turn.origin,
                     turn.channel, turn.session_id, streamed, attempt, kind)


def find_outcome(error: BaseException) -> str:
    if isinstance(error, _LEFT):
        return "cancelled"
    if isinstance(error, IncompleteAnswerError):
        return error.kind
    if was_late(error):
        return "timeout"
    return error.kind if isinstance(error, ClawError) else "fault"


def was_read(error: BaseException) -> bool:
    """Whether the vendor had the request and may have answered it: the
    call was left, the answer broke off or did not come in time."""
    return (isinstance(error, (*_LEFT, IncompleteAnswerError))
            or was_late(error))


def was_never_made(error: BaseException) -> bool:
    """Whether no server had the request: a key or a setting is missing,
    or there was no way to it."""
    if isinstance(error, _UNASKED):
        return getattr(error, "status", None) is None
    return isinstance(error, UnavailableError) and error.status is None \
        and was_unsent(error)


def count_most_tokens(request: ChatRequest, price: Price) -> int:
    """More than the prompt can have: a token is a byte at least, and
    vendors put a few around each message and tool."""
    size, images = _measure(request)
    tools = request.tools or ()
    if tools:
        size += _TOOLS_TOKENS
    for schema in (request.response_schema, *(t.parameters for t in tools)):
        if schema is not None:  # some get it in words, too
            size += 2 * len(json.dumps(schema))
    return (size + images * price.image_tokens + _FRAME_TOKENS
            * (1 + len(request.messages) + len(tools)))


def _measure(request: ChatRequest) -> tuple[int, int]:
    """Bytes of text and number of images."""
    images, size = 0, 0
    for message in request.messages:
        content = message.content
        if "[IMAGE:data:" in content:
            content, found = re.subn(_IMAGE, "", content)
            images += found
        size += _size(content)
    for tool in request.tools or ():
        size += len(tool.name) + _size(tool.description) + len(
            str(tool.parameters))
    return size, images


def _size(text: str) -> int:
    """Bytes of UTF-8."""
    return len(text) if text.isascii() \
        else len(text.encode("utf-8", "surrogatepass"))


def _count(tokens: int | None) -> int | None:
    """A vendor's count; None for what can't be one."""
    return None if tokens is None or not 0 <= tokens <= _MOST else int(tokens)


def _sum(usages: Sequence[TokenUsage | None], name: str) -> int | None:
    """What the vendor counted in all, None where it never did."""
    counts = [_count(getattr(usage, name)) for usage in usages if usage]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))


async def _patiently(work: Callable[[float], T],
                     undo: Callable[[T], None] | None = None) -> T:
    """Do it here, which takes 0.1 ms; in a thread where another process
    holds the file, and for so long. `undo` gets what came of it when
    nobody waits any more."""
    try:
        return work(0.0)
    except UnavailableError:
        pass
    late = asyncio.ensure_future(asyncio.to_thread(work, WAIT_S))
    try:
        return await asyncio.shield(late)
    except asyncio.CancelledError:
        late.add_done_callback(lambda done: _dropped(done, undo))
        raise


def _dropped(done: "asyncio.Future[T]",
             undo: Callable[[T], None] | None) -> None:
    if not done.cancelled() and done.exception() is None \
            and undo is not None:
        undo(done.result())
