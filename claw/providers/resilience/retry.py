"""The tries of one call of a ReliableProvider: what is tried, in which
order, after which wait, and what is said when nothing answered.
"""

import copy
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import aclosing

from claw.core.errors import (
    AuthError,
    ClawError,
    ConfigError,
    ContextOverflowError,
    LeaseLostError,
    MissingPartError,
    UnavailableError,
    describe,
)
from claw.core.ledger import current_attempt
from claw.core.provider import ChatRequest, Provider
from claw.net.errors import scrub
from claw.net.failure_words import Kind
from claw.net.failures import Failure, classify_error
from claw.net.retry import LONGEST_S, backoff, span, to_wait
from claw.providers.resilience.breaker import Breaker
from claw.providers.resilience.endpoints import KeyPool, choose_pools

MOST_TRIES = 10
LONG_S = 5.0   # another endpoint is asked before waiting longer than this
TOLD_S = 2.0   # a person is told of waits longer than this
_DETAIL_CHARS = 300
HANDLED = (AuthError, UnavailableError, ConfigError, MissingPartError,
            OSError)
_AT_ONCE = (ContextOverflowError, LeaseLostError)
_DOWN: frozenset[Kind] = frozenset({"network", "timeout", "server",
                                    "overload"})
_WORDS: dict[Kind, str] = {
    "auth": "refused the key", "quota": "has no credit or quota left",
    "rate": "is over its rate limit", "overload": "is overloaded",
    "network": "can't be reached", "timeout": "did not answer in time",
    "server": "is in trouble", "incomplete": "broke off its answer",
    "tool_schema": "called a tool in a way that does not fit",
    "model_not_found": "does not have the model",
    "bad_request": "refused the request",
    "context_overflow": "found the conversation too long",
}


class Policy:
    """How often, how patiently, and who hears of it."""

    def __init__(self, *, retries: int, base_s: float,
                 fallbacks: Mapping[str, Sequence[str]], breaker: Breaker,
                 sleep: Callable[[float], Awaitable[object]],
                 rng: Callable[[], float], clock: Callable[[], float],
                 notify: Callable[[str], None]) -> None:
        self.retries = retries
        self.base_s = base_s
        self.fallbacks = fallbacks
        self.breaker = breaker
        self.sleep, self.rng, self.clock = sleep, rng, clock
        self.notify = notify


class Try:
    """One request to one endpoint. `done`: there is an answer, or its first
    words; `error` is why there is none."""

    def __init__(self, pool: KeyPool, key: int, model: str, provider: Provider,
                 settle: Callable[[bool | None], None]) -> None:
        self.pool, self.key = pool, key
        self.model, self.provider = model, provider
        self.done = False
        self.began = pool.clock()
        self.error: Exception | None = None
        self.failure = Failure("server")
        self._settle: Callable[[bool | None], None] | None = settle

    def succeed(self) -> None:
        self.done = True
        self.pool.worked(self.key, self.began)
        self.settle(True)

    def fail(self, error: Exception) -> None:
        """Takes note of an error; raises what no other endpoint can cure."""
        self.error, self.failure = error, classify_error(error)
        self.settle(self.failure.kind not in _DOWN)
        if isinstance(error, _AT_ONCE):
            raise error

    def settle(self, alive: bool | None) -> None:
        """Tell the breaker, once."""
        if self._settle is not None:
            self._settle(alive)
            self._settle = None


class _Failed:
    """A line of the final error."""

    def __init__(self, endpoint: str, model: str, number: int, of: int,
                 error: Exception) -> None:
        self.endpoint, self.model = endpoint, model
        self.number, self.of = number, of
        self.error, self.failure = error, classify_error(error)

    def line(self) -> str:
        detail = " ".join(scrub(describe(self.error)).split())
        if len(detail) > _DETAIL_CHARS:
            detail = detail[:_DETAIL_CHARS] + "..."
        return (f"provider={self.endpoint} model={self.model or '?'} attempt "
                f"{self.number}/{self.of}: {self.reason}; error={detail}")

    @property
    def reason(self) -> str:
        return {"rate": "rate_limited",
                "quota": "rate_limited_non_retryable"}.get(
            self.failure.kind, "retryable" if self.failure.retryable
            else "non_retryable")


class _Option:
    """A endpoint and a model to try on it."""

    def __init__(self, pool: KeyPool, model: str, tries: int) -> None:
        self.pool, self.tries = pool, tries
        self.model = pool.endpoint.model or model
        self.made = 0               # tries so far
        self.waits = 0
        self.key: int | None = None
        self.tried: set[int] = set()
        self.ready: float | None = None  # put off until then
        self.asked_s: float | None = None
        self.failure = Failure("server")


class Call:
    """The tries of one call, and what became of them."""

    def __init__(self, policy: Policy, pools: Sequence[KeyPool],
                 request: ChatRequest, model: str) -> None:
        self._policy = policy
        self._pools = choose_pools(pools, request, model)
        self._models = list(dict.fromkeys(
            [model, *policy.fallbacks.get(model, ())]))
        self._failed: list[_Failed] = []
        self._number = 0
        self._left = MOST_TRIES
        self._before: _Option | None = None
        self._skipped: list[_Option] = []
        self._asked: set[int] = set()

    async def tries(self) -> AsyncGenerator[Try]:
        """One try after the other, until one is `done`."""
        seen: set[tuple[int, str]] = set()
        for model in self._models:
            queue: deque[_Option] = deque()
            for pool in self._pools:
                option = _Option(pool, model, max(
                    self._policy.retries + 1, pool.count))
                pair = (id(pool), option.model)
                if pair not in seen:
                    seen.add(pair)
                    queue.append(option)
            while queue:
                option = queue.popleft()
                async with aclosing(self._option(option, queue)) as tries:
                    async for one in tries:
                        yield one
                        if one.done:
                            return
        async with aclosing(self._last_resort()) as tries:
            async for one in tries:
                yield one

    async def _last_resort(self) -> AsyncGenerator[Try]:
        """Where nothing answered, the endpoint whose circuit closes first is
        tried once after all."""
        left = [o for o in self._skipped if id(o.pool) not in self._asked]
        if not left or self._left <= 0:
            return
        breaker = self._policy.breaker
        option = min(left, key=lambda o: breaker.opens_in(
            o.pool.endpoint.host))
        one = self._begin(option, force=True)
        if one is not None:
            try:
                yield one
            finally:  # the breaker hears of one that was cancelled, too
                one.settle(None)
            if not one.done:
                self._note(option, one)

    async def _option(self, option: _Option,
                      queue: deque[_Option]) -> AsyncGenerator[Try]:
        """The tries on one endpoint. It puts itself back into the queue
        where another endpoint is to be asked before a long wait."""
        if option.ready is not None and self._left > 0:
            await self._pause(option, max(
                0.0, option.ready - self._policy.clock()))
            option.ready = None
        while option.made < option.tries and self._left > 0:
            one = self._begin(option)
            if one is None:
                return
            try:
                yield one
            finally:
                one.settle(None)
            if one.done:
                return
            self._note(option, one)
            wait = self._next(option, one)
            if wait is None or option.made >= option.tries \
                    or self._left <= 0 or self._policy.breaker.opens_in(
                        option.pool.endpoint.host) > 0:
                return
            if wait > LONG_S and any(o.ready is None for o in queue):
                option.ready = self._policy.clock() + wait
                queue.append(option)
                return
            if wait > 0:
                await self._pause(option, wait)

    def _begin(self, option: _Option, *,
                 force: bool = False) -> Try | None:
        """The next try; None where the endpoint can't be built or its
        circuit is open."""
        pool, breaker = option.pool, self._policy.breaker
        host = pool.endpoint.host
        ticket = breaker.enter(host, force=force)
        if ticket is None:
            self._skipped.append(option)
            return None
        key = pool.first() if option.key is None else option.key
        try:
            provider = pool.provider(key)
        except HANDLED as error:
            breaker.leave(host, ticket, None)
            self._failed.append(_Failed(pool.endpoint.name, option.model,
                                        option.made + 1, option.tries,
                                        error))
            self._tell_of_change(option)
            self._before, option.failure = option, classify_error(error)
            return None
        self._tell_of_change(option)
        option.key = key
        option.tried.add(key)
        self._asked.add(id(pool))
        option.made += 1
        self._left -= 1
        self._number += 1
        current_attempt.set(self._number)
        return Try(pool, key, option.model, provider,
                       lambda alive: breaker.leave(host, ticket, alive))

    def _note(self, option: _Option, one: Try) -> None:
        """Remember how a try failed."""
        assert one.error is not None
        option.failure = one.failure
        self._before = option
        self._failed.append(_Failed(option.pool.endpoint.name, option.model,
                                    option.made, option.tries,
                                    one.error))

    def _next(self, option: _Option, one: Try) -> float | None:
        """Seconds until the next try on this endpoint, None for never."""
        pool, failure = option.pool, one.failure
        asked = getattr(one.error, "retry_after_s", None)
        if failure.rotates_key:
            pool.limited(one.key, asked)
            fresh = pool.next(option.tried)
            if fresh is not None:
                option.key = fresh
                return 0.0
            option.tried.clear()
            option.key, left = pool.soonest()
            if option.key != one.key:
                asked = left
        elif failure.kind in ("auth", "quota"):
            pool.pass_on(one.key)  # another key for the next call
        if not failure.retryable or (asked or 0.0) > LONGEST_S:
            return None
        if pool.endpoint.local and failure.kind == "network":
            return None  # it does not run; a second later neither
        option.asked_s = asked
        option.waits += 1
        policy = self._policy
        return to_wait(asked, backoff(option.waits - 1, base=policy.base_s,
                                      rng=policy.rng))

    async def _pause(self, option: _Option, wait_s: float) -> None:
        """Wait, and say so where it takes a while."""
        policy, pool, key = self._policy, option.pool, option.key or 0
        began = policy.clock()
        wait = pool.queue(key, wait_s, option.asked_s)
        if wait > TOLD_S:
            policy.notify(
                f"{pool.endpoint.name} {_WORDS[option.failure.kind]}; "
                f"waiting {span(wait)}")
        try:
            await policy.sleep(wait)
        finally:
            pool.left(key, wait, began)

    def _tell_of_change(self, option: _Option) -> None:
        """One line where another endpoint or model takes over."""
        before = self._before
        if before is None or before is option:
            return
        endpoint, other = before.pool.endpoint.name, option.pool.endpoint.name
        kind, error = before.failure.kind, self._failed[-1].error
        settings = isinstance(error, ConfigError | MissingPartError)
        why = "can't be used" if settings else _WORDS[kind]
        if isinstance(error, AuthError) and "not set" in error.message:
            why = "has no key"
        if kind == "model_not_found":
            why += f" {before.model}"
        hint = getattr(error, "hint", None) if settings or kind == "auth" \
            else None
        self._policy.notify(
            f"{endpoint} {why}; asking "
            f"{other if endpoint != other else option.model} instead"
            + (f" ({hint})" if hint else ""))

    def build_error(self) -> Exception:
        """The error of a call that no try answered: of one failure
        itself; of several the last that waiting may cure, else the last,
        with a line for each where they differ."""
        chosen = next((f for f in reversed(self._failed)
                       if f.failure.retryable), self._failed[-1])
        error = chosen.error
        asked = getattr(error, "retry_after_s", None)
        if isinstance(error, ClawError) and error.hint is None \
                and asked is not None and asked > LONGEST_S:
            error.hint = f"it asks to wait {span(asked)}"
        if len(self._failed) == 1:
            return error
        places = {(f.endpoint, f.model, f.failure.kind)
                  for f in self._failed}
        if len(places) == 1 and isinstance(error, ClawError):
            return _reword(error, f"{error.message} (asked "
                                     f"{len(self._failed)} times)")
        lines = "\n".join(f.line() for f in self._failed)
        message = f"All providers/models failed. Attempts:\n{lines}"
        return _reword(error, message) if isinstance(error, ClawError) \
            else UnavailableError(message, hint="try again")


def _reword(error: ClawError, message: str) -> ClawError:
    """The same error with another sentence."""
    final = copy.copy(error)
    final.message, final.args = message, (message,)
    final.__cause__ = error
    return final
