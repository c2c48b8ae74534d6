"""What happens when something fails."""

import asyncio
import heapq
from collections import Counter
from contextlib import contextmanager

import pytest

from claw.core.errors import (
    AuthError,
    BudgetError,
    ConfigError,
    ContextOverflowError,
    IncompleteAnswerError,
    MissingPartError,
    OverloadedError,
    QuotaError,
    RateLimitedError,
    RequestRefusedError,
    UnavailableError,
)
from claw.core.provider import (
    AssistantToolCalls,
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    ToolCall,
    ToolResultMessage,
    encode_tool_calls,
    encode_tool_result,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.value import replace
from claw.providers.resilience.breaker import Breaker
from claw.providers.resilience.endpoints import KeyPool
from claw.providers.resilience.reliable import Endpoint, ReliableProvider
from claw.testing.contracts.provider import ProviderContract
from claw.testing.scripted import ScriptedProvider

HELLO = ChatRequest([ChatMessage.user("hello")])
PICTURE = ChatRequest([ChatMessage.user(
    "what is it? [IMAGE:data:image/png;base64,AAAA]")])

BUSY = OverloadedError("it is overloaded", status=503)
LIMITED = RateLimitedError("slow down", status=429)
BROKEN = UnavailableError("could not reach it: connection refused")
REFUSED = RequestRefusedError("no such parameter", status=400)
NO_KEY = AuthError("bad key", hint="set ACME_API_KEY")
NO_MONEY = QuotaError("no credit", status=429)
CUT = IncompleteAnswerError("it ended early")


def limited(seconds):
    return RateLimitedError("slow down", status=429, retry_after_s=seconds)


class House:
    """Endpoints of scripted providers, a clock that sleeping moves on."""

    def __init__(self, *scripts, rng=1.0, names="abcdef", endpoints=None,
                 **more):
        self.now = 1000.0
        self.waits = []
        self.heard = []
        self.providers = [
            [p if isinstance(p, Provider) else ScriptedProvider(p)
             for p in keys] for keys in scripts]
        rows = endpoints or [{} for _ in scripts]
        self.reliable = ReliableProvider(
            [Endpoint(name, f"{name}.test", [lambda p=p: p for p in keys],
                      **row)
             for name, keys, row in zip(names, self.providers, rows,
                                        strict=False)],
            sleep=self.sleep, rng=lambda: rng, clock=lambda: self.now,
            notify=self.heard.append, **more)

    async def sleep(self, seconds):
        self.waits.append(round(seconds, 6))
        self.now += seconds
        await asyncio.sleep(0)

    def chat(self, request=HELLO, model="m"):
        return asyncio.run(self.reliable.chat(request, model, 0.5))

    def stream(self, request=HELLO, model="m"):
        shown = []

        async def collect():
            async for chunk in self.reliable.stream_chat(request, model, 0.5):
                shown.append(chunk)
        try:
            asyncio.run(collect())
        except Exception as error:
            return shown, error
        return shown, None

    def asked(self, endpoint=0, key=0):
        return [a.model for a in self.providers[endpoint][key].requests]


def one(*script, **more):
    return House([script], **more)


# -- retries


def test_an_answer_is_passed_on():
    house = one("hi")

    assert house.chat().text == "hi"
    assert (house.waits, house.heard) == ([], [])


@pytest.mark.parametrize("error", [
    BUSY, LIMITED, BROKEN, CUT, UnavailableError("x", status=500),
    UnavailableError("it did not answer within 9 s"), ConnectionResetError(),
    RequestRefusedError("tool call validation failed", status=400)])
def test_what_may_pass_is_asked_again_with_a_back_off(error):
    house = one(error, error, "hi")

    assert house.chat().text == "hi"
    assert house.waits == [0.5, 1.0]
    assert house.heard == []


@pytest.mark.parametrize("error", [
    NO_KEY, NO_MONEY, REFUSED, UnavailableError("x", status=408),
    RequestRefusedError("model not found", status=404),
    IncompleteAnswerError("it gave an empty answer, twice"),
    ConfigError("a header holds what no header can")])
def test_what_stays_is_raised_as_it_is(error):
    house = one(error, "never")

    with pytest.raises(type(error)) as caught:
        house.chat()

    assert caught.value is error
    assert house.waits == []
    assert len(house.asked()) == 1


def test_the_back_off_is_a_random_part_up_to_ten_seconds():
    house = one(*[CUT] * 8, "hi", retries=8, rng=0.5)

    assert house.chat().text == "hi"
    assert house.waits == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0, 5.0, 5.0]


def test_a_tiny_back_off_is_50_ms():
    house = one(CUT, "hi", backoff_ms=1)

    house.chat()

    assert house.waits == [0.05]


def test_no_retries_is_one_try():
    house = one(BUSY, "never", retries=0)

    with pytest.raises(OverloadedError) as caught:
        house.chat()

    assert caught.value is BUSY


def test_no_call_makes_more_than_ten_tries():
    house = House([[CUT] * 99], [[CUT] * 99], retries=50)

    with pytest.raises(IncompleteAnswerError):
        house.chat()

    assert len(house.asked(0)) + len(house.asked(1)) == 10


# -- waits that servers ask for


@pytest.mark.parametrize(("asked", "wait"), [
    (7.0, 7.0), (0.1, 0.5), (0.0, 0.5), (30.0, 30.0)])
def test_the_wait_that_a_server_asks_for_is_kept(asked, wait):
    house = one(limited(asked), "hi")

    assert house.chat().text == "hi"
    assert house.waits == [wait]


def test_a_long_wait_is_told():
    house = one(limited(12), OverloadedError("x", retry_after_s=2.5), "hi")

    house.chat()

    assert house.heard == ["a is over its rate limit; waiting 12 s",
                           "a is overloaded; waiting 2.5 s"]


def test_a_wait_of_days_fails_at_once_and_tells_the_time():
    house = one(limited(3 * 86400), "never")

    with pytest.raises(RateLimitedError, match="slow down") as caught:
        house.chat()

    assert house.waits == []
    assert caught.value.hint == "it asks to wait 3 days"


def test_another_endpoint_is_asked_before_a_long_wait():
    house = House([[limited(20), "late"]], [["hi"]])

    assert house.chat().text == "hi"
    assert house.waits == []
    assert house.heard == ["a is over its rate limit; asking b instead"]


def test_the_long_wait_comes_after_all_when_the_others_fail():
    house = House([[limited(20), "late"]], [[NO_KEY]])

    assert house.chat().text == "late"
    assert house.waits == [20.0]
    assert house.heard == [
        "a is over its rate limit; asking b instead",
        "a is over its rate limit; waiting 20 s",
        "b refused the key; asking a instead (set ACME_API_KEY)"]


def test_the_time_that_another_endpoint_took_counts():
    def slow(_):
        house.now += 15
        return NO_KEY
    house = House([[limited(20), "late"]], [[slow]])

    assert house.chat().text == "late"
    assert house.waits == [5.0]


def test_a_short_wait_is_waited_in_place():
    house = House([[limited(3), "hi"]], [["never"]])

    assert house.chat().text == "hi"
    assert house.waits == [3.0]
    assert house.asked(1) == []


def test_those_who_wait_for_one_key_go_on_one_after_the_other():
    house = one(*[limited(2)] * 4, *["hi"] * 4, retries=1)

    async def all_at_once():
        await asyncio.gather(*(house.reliable.chat(HELLO, "m", 0.5)
                               for _ in range(4)))
    waits = []

    async def sleep(seconds):
        waits.append(seconds)
        await asyncio.sleep(seconds / 1000)
    house.reliable.policy.sleep = sleep
    asyncio.run(all_at_once())

    assert waits == [2.0, 4.0, 6.0, 8.0]


def test_a_call_after_a_wait_is_not_kept_waiting_for_it():
    house = one(limited(7), "hi", limited(7), "hi")

    house.chat()
    house.chat()

    assert house.waits == [7.0, 7.0]


def test_one_that_waited_holds_nobody_up():
    house = one(limited(7), "hi", limited(7), "hi")

    async def sleep(seconds):
        house.waits.append(seconds)
    house.reliable.policy.sleep = sleep
    house.chat()
    house.chat()

    assert house.waits == [7.0, 7.0]


# -- keys


def test_a_rate_limit_turns_to_the_next_key_at_once():
    house = House([[LIMITED], ["hi", "again"]])

    assert house.chat().text == "hi"
    assert house.chat().text == "again"
    assert house.waits == []
    assert len(house.asked(0, 0)) == 1


def test_it_waits_when_every_key_was_tried():
    house = House([[limited(9), "never"], [limited(4), "hi"]])

    assert house.chat().text == "hi"
    assert house.waits == [4.0]
    assert (len(house.asked(0, 0)), len(house.asked(0, 1))) == (1, 2)


def test_it_waits_for_the_key_that_is_free_first():
    house = House([[limited(4), "hi"], [limited(9), "never"]])

    assert house.chat().text == "hi"
    assert house.waits == [4.0]


def test_after_a_wait_the_keys_take_turns_again():
    house = House([[LIMITED, LIMITED], [LIMITED, "hi"]], retries=3)

    assert house.chat().text == "hi"
    assert house.waits == [0.5]


def test_a_key_that_rests_is_not_asked_when_the_other_is_limited():
    house = House([[limited(60), "never"], ["1", LIMITED, "2"]])

    assert [house.chat().text for _ in range(2)] == ["1", "2"]
    assert house.waits == [0.5]
    assert len(house.asked(0, 0)) == 1


def test_keys_move_on_once_and_forget_what_passed():
    keys = KeyPool(Endpoint("a", "", [ScriptedProvider] * 3), lambda: 0.0)

    keys.limited(0, 9.0)
    keys.limited(1, 5.0)
    keys.limited(0, 9.0)

    assert keys.first() == 2
    assert keys.next({2}) is None
    assert keys.soonest() == (2, None)
    keys.limited(2, 7.0)
    assert keys.soonest() == (1, 5.0)
    keys.worked(0, 0.0)
    assert keys.first() == 0


@pytest.mark.each("until_next", [n / 20 for n in range(1, 21)])
def test_a_limit_that_is_nearly_over_was_taken_for_its_whole_time(
        until_next):
    """One a second is let through, and six are refused just before: the
    wait that they are told is that of the first alone."""
    now = [0.0]
    keys = KeyPool(Endpoint("a", "", [ScriptedProvider]), lambda: now[0])
    coming = [(n / 1000, n, 1, None) for n in range(6)]
    free, next_at, asked, through = 0, until_next, Counter(), []
    while coming:
        now[0], who, tries, waited = heapq.heappop(coming)
        if waited is not None:
            keys.left(0, *waited)
        while next_at <= now[0]:
            free, next_at = free + 1, next_at + 1
        asked[who] += 1
        if free:
            free -= 1
            keys.worked(0, now[0])
            through.append(who)
            continue
        wait = keys.queue(0, max(next_at - now[0], 0.1 * tries),
                          next_at - now[0])
        heapq.heappush(coming, (now[0] + wait + 0.01, who, tries + 1,
                                (wait, now[0])))

    assert len(through) == 6
    assert max(asked.values()) <= 3
    assert now[0] < 8


def test_every_key_is_tried_even_without_retries():
    house = House([[LIMITED], [LIMITED], ["hi"]], retries=0)

    assert house.chat().text == "hi"


def test_a_key_that_rests_is_left_out_by_later_calls():
    house = House([[limited(60), "back"], ["1", "2", limited(60)], ["3"]])

    assert [house.chat().text for _ in range(3)] == ["1", "2", "3"]
    house.now += 61
    assert len(house.asked(0, 0)) == 1


def test_an_exhausted_key_is_not_rotated_in_the_call_but_after_it():
    house = House([[NO_MONEY], ["hi"]])

    with pytest.raises(QuotaError):
        house.chat()

    assert house.asked(0, 1) == []
    assert house.chat().text == "hi"


def test_calls_at_once_that_meet_one_limit_move_on_once():
    house = House([[LIMITED] * 5, ["hi"] * 5, ["never"]])

    async def all_at_once():
        return await asyncio.gather(*(
            house.reliable.chat(HELLO, "m", 0.5) for _ in range(5)))

    assert {r.text for r in asyncio.run(all_at_once())} == {"hi"}
    assert house.asked(0, 2) == []


def test_keys_are_made_when_they_are_needed():
    made = []

    def make(name, script):
        def build():
            made.append(name)
            return ScriptedProvider(script)
        return build
    reliable = ReliableProvider([
        Endpoint("a", "", [make("a0", ["1", LIMITED]), make("a1", ["2"])]),
        Endpoint("b", "", [make("b0", ["3"])])])

    async def work():
        await reliable.chat(HELLO, "m", 0.5)
        first = list(made)
        await reliable.chat(HELLO, "m", 0.5)
        await reliable.aclose()
        return first

    assert asyncio.run(work()) == ["a0"]
    assert made == ["a0", "a1"]


def test_an_endpoint_shows_no_provider_and_needs_one():
    assert "secret" not in repr(Endpoint("a", "h", [lambda: "secret"]))
    with pytest.raises(ValueError, match="no provider"):
        Endpoint("a", "h", [])
    with pytest.raises(ValueError, match="endpoint"):
        ReliableProvider([])


# -- endpoints and models


def test_a_refusal_goes_to_the_next_endpoint_at_once():
    house = House([[REFUSED]], [[NO_KEY]], [["hi"]])

    assert house.chat().text == "hi"
    assert house.waits == []
    assert house.heard == [
        "a refused the request; asking b instead",
        "b refused the key; asking c instead (set ACME_API_KEY)"]


def test_every_endpoint_comes_before_the_next_model():
    house = House([[REFUSED, REFUSED]], [[REFUSED, "hi"]],
                  model_fallbacks={"m": ["m", "n"]})

    assert house.chat().text == "hi"
    assert (house.asked(0), house.asked(1)) == (["m", "n"], ["m", "n"])


def test_another_model_of_the_same_endpoint_is_told():
    house = one(RequestRefusedError("model not found", status=404), "hi",
                model_fallbacks={"m": ["n"], "other": ["x"]})

    house.chat()

    assert house.heard == ["a does not have the model m; asking n instead"]


def test_an_endpoint_with_a_model_of_its_own_asks_that_once():
    house = House([[REFUSED, REFUSED]], [[REFUSED, "never"]],
                  endpoints=[{}, {"model": "own"}],
                  model_fallbacks={"m": ["n"]})

    with pytest.raises(RequestRefusedError):
        house.chat()

    assert (house.asked(0), house.asked(1)) == (["m", "n"], ["own"])


def test_an_endpoint_that_can_not_be_built_is_passed_over():
    def missing():
        raise MissingPartError("needs boto", hint="pip install boto")
    good = ScriptedProvider(["hi", "hi"])
    heard = []
    reliable = ReliableProvider(
        [Endpoint("a", "", [missing]), Endpoint("b", "", [lambda: good])],
        notify=heard.append)

    response = asyncio.run(reliable.chat(HELLO, "m", 0.5))

    assert response.text == "hi"
    assert heard == ["a can't be used; asking b instead (pip install boto)"]
    assert reliable.capabilities() == good.capabilities()


def test_where_no_endpoint_can_be_built_its_error_is_raised():
    def missing():
        raise ConfigError("no address")
    reliable = ReliableProvider([Endpoint("a", "h", [missing])])

    with pytest.raises(ConfigError, match="no address"):
        asyncio.run(reliable.chat(HELLO, "m", 0.5))
    with pytest.raises(ConfigError, match="no address"):
        reliable.capabilities()


def test_a_server_here_that_does_not_run_is_asked_once():
    house = one(BROKEN, "never", endpoints=[{"local": True}])

    with pytest.raises(UnavailableError) as caught:
        house.chat()

    assert caught.value is BROKEN


def test_too_long_is_raised_at_once():
    house = House([[ContextOverflowError("too long", status=400)]],
                  [["never"]], model_fallbacks={"m": ["n"]})

    with pytest.raises(ContextOverflowError):
        house.chat()

    assert house.asked(1) == []


def test_too_long_on_the_second_endpoint_is_raised_as_it_is():
    house = House([[REFUSED]], [[ContextOverflowError("too long")]],
                  [["never"]])

    with pytest.raises(ContextOverflowError, match=r"^too long$"):
        house.chat()


def test_an_exhausted_budget_asks_nobody_else():
    house = House([[BudgetError("spent")]], [["never"]])

    with pytest.raises(BudgetError):
        house.chat()

    assert house.asked(1) == []


def test_a_fault_of_ours_is_not_asked_again():
    house = House([[TypeError("a fault")]], [["never"]])

    with pytest.raises(TypeError):
        house.chat()

    assert house.asked(1) == []


# -- pictures and tools


def sighted(*script):
    return ScriptedProvider(script, vision=True)


def test_pictures_go_to_endpoints_that_see():
    house = House([["never"]], [sighted("a cat")])

    assert house.chat(PICTURE).text == "a cat"
    assert house.reliable.capabilities().vision
    assert house.chat(HELLO).text == "never"


def test_who_sees_is_asked_for_the_model():
    class Some(ScriptedProvider):
        def capabilities_for(self, model):
            return replace(self.capabilities(),
                           vision=model == "seer")
    house = House([Some(["no", "no"], native_tools=False)], [["a cat"]])

    assert house.reliable.capabilities_for("seer").vision
    assert not house.reliable.capabilities_for("m").vision
    assert not house.reliable.capabilities_for("seer").native_tool_calling


def test_where_no_endpoint_sees_pictures_go_to_the_first():
    house = House([["I see nothing"]], [["never"]])

    assert house.chat(PICTURE).text == "I see nothing"
    assert not house.reliable.capabilities().vision


def test_tools_and_calls_of_the_past_go_to_an_endpoint_without_native_tools():
    first = ScriptedProvider([REFUSED])
    second = ScriptedProvider(["hi"], native_tools=False)
    house = House([first], [second])
    tools = [ToolSpec("weather", "The weather.", closed_object(
        city=string("a city")))]
    call = ToolCall("c1", "weather", "{}")
    request = ChatRequest([
        ChatMessage.user("weather?"),
        encode_tool_calls(AssistantToolCalls(None, (call,))),
        encode_tool_result(ToolResultMessage("c1", "5 C"))], tools=tools)

    assert house.chat(request).text == "hi"
    (asked,) = second.requests
    assert asked.request.tools is None
    assert "weather" in asked.system
    assert house.reliable.supports_native_tools()
    assert house.reliable.convert_tools(tools) == first.convert_tools(tools)


# -- streams


class Streamed(ScriptedProvider):
    """Plays scripts of chunks; an exception in one is raised there."""

    def __init__(self, *scripts):
        super().__init__(["-"])
        self.scripts = list(scripts)
        self.open = 0

    async def stream_chat(self, request, model, temperature):
        self.open += 1
        try:
            for item in self.scripts.pop(0):
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.open -= 1


def words(*texts):
    return [*(StreamChunk(t) for t in texts),
            StreamChunk(is_final=True, response=ChatResponse("".join(texts)))]


def test_a_stream_that_fails_before_its_first_word_is_asked_again():
    streamed = Streamed([BUSY], [StreamChunk(""), CUT], words("a", "b"))
    house = House([streamed])

    shown, error = house.stream()

    assert error is None
    assert "".join(c.delta for c in shown) == "ab"
    assert [c.is_final for c in shown].count(True) == 1
    assert house.waits == [0.5, 1.0]
    assert streamed.open == 0


@pytest.mark.parametrize("error", [CUT, BUSY, LIMITED, NO_KEY,
                                   ConnectionResetError()])
def test_nothing_is_asked_again_after_the_first_word(error):
    house = House([Streamed([StreamChunk("a"), error], words("never"))],
                  [Streamed(words("never"))])

    shown, raised = house.stream()

    assert [c.delta for c in shown] == ["a"]
    assert raised is error
    assert (house.waits, house.heard) == ([], [])


def test_an_answer_of_calls_alone_is_not_asked_again():
    calls = ChatResponse(tool_calls=(ToolCall("1", "t", "{}"),))
    house = House([Streamed([StreamChunk(is_final=True, response=calls), CUT],
                            words("never"))])

    shown, raised = house.stream()

    assert shown[-1].response.tool_calls == calls.tool_calls
    assert raised is CUT


def test_a_stream_without_an_end_is_asked_again_before_the_first_word():
    house = House([Streamed([StreamChunk("")], words("a"))])

    shown, error = house.stream()

    assert error is None
    assert shown[-1].response.text == "a"


def test_a_stream_that_ends_early_in_sight_is_no_short_answer():
    house = House([Streamed([StreamChunk("a")], words("never"))])

    _, error = house.stream()

    assert isinstance(error, IncompleteAnswerError)
    assert house.providers[0][0].scripts != []


def test_a_stream_falls_over_to_the_next_endpoint():
    house = House([Streamed([NO_KEY])], [Streamed(words("hi"))])

    shown, error = house.stream()

    assert error is None
    assert shown[-1].response.text == "hi"
    assert len(house.heard) == 1


def test_a_stream_that_is_left_is_closed_in_order():
    streamed = Streamed(words("a", "b"), words("c"))
    house = House([streamed])

    async def leave():
        stream = house.reliable.stream_chat(HELLO, "m", 0.5)
        async for _ in stream:
            break
        await stream.aclose()
        left_open = streamed.open
        return left_open, await anext(house.reliable.stream_chat(
            HELLO, "m", 0.5))

    left_open, chunk = asyncio.run(leave())
    assert left_open == 0
    assert chunk.delta == "c"


# -- cancellation


class Stuck(ScriptedProvider):
    async def chat(self, request, model, temperature):
        await asyncio.sleep(60)

    async def stream_chat(self, request, model, temperature):
        await asyncio.sleep(60)
        yield StreamChunk("never")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_call_is_cancelled_at_once(streamed):
    house = House([Stuck()], [["never"]])

    async def work():
        async def ask():
            if not streamed:
                return await house.reliable.chat(HELLO, "m", 0.5)
            return [c async for c in house.reliable.stream_chat(
                HELLO, "m", 0.5)]
        task = asyncio.ensure_future(ask())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 1)

    asyncio.run(work())
    assert house.asked(1) == []


def test_a_wait_is_cancelled_at_once():
    house = one(limited(20), "hi")
    house.reliable.policy.sleep = asyncio.sleep

    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await house.reliable.chat(HELLO, "m", 0.5)

    asyncio.run(work())
    house.reliable.policy.sleep = house.sleep
    assert house.chat().text == "hi"
    assert house.waits == []


def test_a_cancelled_probe_does_not_close_the_way_for_good():
    breaker = Breaker(clock=lambda: house.now)
    house = House([Stuck()], breaker=breaker)
    for _ in range(5):
        breaker.leave("a.test", breaker.enter("a.test"), False)
    house.now += 31

    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await house.reliable.chat(HELLO, "m", 0.5)
    asyncio.run(work())

    assert breaker.enter("a.test") is not None


# -- the final error


def test_several_failures_are_told_line_by_line():
    house = House([[LIMITED, LIMITED, NO_MONEY]], [[NO_KEY]])

    with pytest.raises(RateLimitedError) as caught:
        house.chat()

    assert caught.value.message.splitlines() == [
        "All providers/models failed. Attempts:",
        "provider=a model=m attempt 1/3: rate_limited; error=slow down",
        "provider=a model=m attempt 2/3: rate_limited; error=slow down",
        "provider=a model=m attempt 3/3: rate_limited_non_retryable; "
        "error=no credit",
        "provider=b model=m attempt 1/3: non_retryable; error=bad key"]
    assert type(caught.value) is RateLimitedError
    assert caught.value.status == 429


@pytest.mark.parametrize(("errors", "kind", "code"), [
    ([NO_KEY, NO_KEY], AuthError, 4),
    ([REFUSED, NO_KEY], AuthError, 4),
    ([NO_KEY, REFUSED], RequestRefusedError, 5),
    ([CUT, NO_KEY], IncompleteAnswerError, 5),
    ([NO_KEY, CUT], IncompleteAnswerError, 5),
    ([LIMITED, BROKEN], UnavailableError, 5),
    ([NO_MONEY, NO_MONEY], QuotaError, 5),
])
def test_what_waiting_may_cure_gives_its_class_else_the_last(
        errors, kind, code):
    house = House(*([[error]] for error in errors), retries=0)

    with pytest.raises(kind) as caught:
        house.chat()

    assert type(caught.value) is kind
    assert caught.value.exit_code == code
    assert caught.value.message.startswith("All providers/models failed.")
    assert all(not e.message.startswith("All") for e in errors)


def test_the_next_step_stays_and_secrets_go():
    loud = AuthError("sk-abcdef is\n\n  wrong " + "x" * 900,
                     hint="set ACME_API_KEY")
    house = House([[loud]], [[loud]])

    with pytest.raises(AuthError) as caught:
        house.chat()

    assert caught.value.hint == "set ACME_API_KEY"
    assert "sk-abcdef" not in caught.value.message
    assert "error=[REDACTED] is wrong xxx" in caught.value.message
    assert len(caught.value.message) < 1000


# -- the circuit breaker


def test_a_host_that_keeps_failing_is_passed_over():
    house = House([[BROKEN] * 9], [["1", "2", "3", "4"]])

    texts = [house.chat().text for _ in range(4)]

    assert texts == ["1", "2", "3", "4"]
    assert len(house.asked(0)) == 5
    assert house.waits == [0.5, 1.0, 0.5]  # none once it is open


def test_it_is_tried_again_half_a_minute_later():
    house = House([[*[BROKEN] * 5, "back", "here"]], [["1", "2", "3"]])
    for _ in range(3):
        house.chat()
    house.now += 31

    assert house.chat().text == "back"
    assert house.chat().text == "here"


def test_where_every_circuit_is_open_the_first_to_close_is_tried_once():
    breaker = Breaker(clock=lambda: house.now)
    house = House([[BROKEN] * 9], [[BROKEN, "hi"]], breaker=breaker)
    for host, at in (("b.test", 0), ("a.test", 5)):
        house.now += at
        for _ in range(5):
            breaker.leave(host, breaker.enter(host), False)

    with pytest.raises(UnavailableError) as caught:
        house.chat()

    assert caught.value is BROKEN
    assert (house.asked(0), house.asked(1)) == ([], ["m"])


def test_a_blip_does_not_refuse_everything():
    house = one(*[BROKEN] * 5, "back")
    for _ in range(2):
        with pytest.raises(UnavailableError):
            house.chat()

    assert house.chat().text == "back"


def test_an_open_endpoint_is_tried_after_the_others_failed():
    breaker = Breaker(clock=lambda: house.now)
    house = House([["hi"]], [[NO_KEY]], breaker=breaker)
    for _ in range(5):
        breaker.leave("a.test", breaker.enter("a.test"), False)

    assert house.chat().text == "hi"
    assert len(house.asked(1)) == 1


@pytest.mark.parametrize("error", [NO_KEY, REFUSED, LIMITED, NO_MONEY])
def test_refusals_do_not_open_the_circuit(error):
    house = House([[error] * 99], [["hi"] * 99])
    for _ in range(20):
        house.chat()

    assert len(house.asked(0)) >= 20


# -- the rest


def test_models_are_those_of_the_first_endpoint():
    house = House([ScriptedProvider(models=["m1"])],
                  [ScriptedProvider(models=["m2"])])

    assert asyncio.run(house.reliable.models()) == ["m1"]
    assert house.reliable.name == "a"
    assert house.reliable.supports_streaming()


def test_warming_up_reaches_every_endpoint_and_ignores_failures():
    warm = []

    class Cold(ScriptedProvider):
        async def warmup(self):
            warm.append(self)
            raise UnavailableError("no")
    house = House([Cold()], [Cold()])

    asyncio.run(house.reliable.warmup())

    assert len(warm) == 2


def test_closing_closes_all_that_was_made_even_if_one_fails():
    class Tight(ScriptedProvider):
        async def aclose(self):
            raise UnavailableError("stuck")
    house = House([Tight([REFUSED])], [["hi"]])
    house.chat()

    with pytest.raises(UnavailableError, match="stuck"):
        asyncio.run(house.reliable.aclose())

    assert house.providers[1][0].closed


class TestReliable(ProviderContract):
    @contextmanager
    def running(self):
        yield House([ScriptedProvider()]).reliable


class TestReliableAfterAFailure(ProviderContract):
    @contextmanager
    def running(self):
        yield House([ScriptedProvider([NO_KEY], repeat=True)],
                    [ScriptedProvider(native_tools=False)]).reliable
