"""Each call of a provider is one record, however it ends."""

import asyncio
import sqlite3
from contextlib import closing, contextmanager
from functools import partial

import pytest

from claw.core.errors import (
    AuthError,
    BudgetError,
    ConfigError,
    IncompleteAnswerError,
    RateLimitedError,
    StorageError,
    UnavailableError,
)
from claw.core.ledger import (
    CallEnd,
    CallStart,
    current_attempt,
    set_aside,
)
from claw.core.provider import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Provider,
    StreamChunk,
    TokenUsage,
    ToolCall,
)
from claw.core.tool import ToolSpec, closed_object, string
from claw.core.turn import TurnContext, current_turn
from claw.providers.cost.budget import SharedBudget
from claw.providers.cost.metered import MeteredProvider
from claw.providers.cost.prices import Prices
from claw.providers.factory import create_provider
from claw.providers.settings import (
    CostSettings,
    PriceSettings,
    ProviderSettings,
)
from claw.storage.ledger import SqliteLedger
from claw.storage.ledger_reader import open_reader
from claw.testing.contracts.provider import ProviderContract
from claw.testing.fake_anthropic import FakeAnthropic
from claw.testing.fake_gemini import FakeGemini
from claw.testing.fake_ollama import FakeOllama, Model
from claw.testing.fake_openai import FakeOpenAI, Reply
from claw.testing.scripted import ScriptedProvider

# a dollar for a million tokens of prompt, ten for those of the answer
PRICES = Prices({"m": PriceSettings(input=1, output=10),
                 "free": PriceSettings(input=0, output=0),
                 "half": PriceSettings(input=1)})
USAGE = TokenUsage(1000, 100, 400, 0)
COST = (600 + 400 * 0.1 + 100 * 10) / 1e6
ASKED = ChatRequest([ChatMessage.user("x" * 400)], max_tokens=1000)
SENT = 100  # tokens of it, by estimate
RESERVED = (SENT + 1000 * 10) / 1e6
TOOL = ToolSpec("look", "Looks.", closed_object(at=string("what")))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state" / "ledger.db"


@pytest.fixture
def ledger(path):
    with closing(SqliteLedger(path)) as opened:
        yield opened


class Room:
    """Providers around one ledger, and what they say."""

    def __init__(self, ledger, path):
        self.ledger = ledger
        self.path = path
        self.notes = []

    def around(self, provider, **settings):
        local = settings.pop("local", False)
        return MeteredProvider(
            provider, name="vendor", local=local, ledger=self.ledger,
            prices=settings.pop("prices", PRICES),
            limits_set=settings.pop("limits_set", False),
            limits=CostSettings(**settings), notify=self.notes.append)

    @property
    def calls(self):
        with open_reader(self.path) as reader:
            return reader.calls("0000", "9999", 100)

    @property
    def end(self):
        one, = self.calls
        return one.end


@pytest.fixture
def room(ledger, path):
    return Room(ledger, path)


def run(work):
    return asyncio.run(work)


async def streamed(provider, model="m", request=ASKED):
    return [c async for c in provider.stream_chat(request, model, 0.5)]


class TestContract(ProviderContract):
    """The wrapper is a provider like any other."""

    @contextmanager
    def running(self):
        yield MeteredProvider(ScriptedProvider(), name="vendor",
                               local=True, ledger=NoLedger(),
                               prices=PRICES)


class NoLedger:
    """A ledger that can't be written."""

    def __init__(self, error=None):
        self.error = error or StorageError("the disk is full: ledger.db",
                                           hint="free some space")

    def reserve(self, start, limits=None, *, wait_s=0.0):
        raise self.error

    def settle(self, reservation, end, *, wait_s=0.0):
        raise self.error

    def release(self, reservation, *, wait_s=0.0):
        raise self.error


# -- how a call ends


def test_an_answer_costs_what_the_vendor_counted(room):
    answer = ChatResponse("hi", usage=USAGE, model="m-2026-01-01")
    got = run(room.around(ScriptedProvider([answer])).chat(ASKED, "m", 0.5))

    assert got == answer
    assert room.end == CallEnd(
        "ok", "m-2026-01-01", 1000, 100, 400, 0, pytest.approx(COST), False,
        None, room.end.duration_ms)
    assert room.end.duration_ms is not None


def test_a_stream_tells_its_time_to_the_first_token(room):
    class Slow(ScriptedProvider):
        async def stream_chat(self, request, model, temperature):
            yield StreamChunk("")  # nothing to see yet
            await asyncio.sleep(0.03)
            yield StreamChunk("hi", token_count=1)
            await asyncio.sleep(0.03)
            yield StreamChunk(is_final=True,
                              response=ChatResponse("hi", usage=USAGE))

    chunks = run(streamed(room.around(Slow())))

    assert "".join(c.delta for c in chunks) == "hi"
    end = room.end
    assert end.outcome == "ok"
    assert end.cost_usd == pytest.approx(COST)
    assert 25 <= end.first_token_ms < end.duration_ms - 20
    assert room.calls[0].streamed


@pytest.mark.parametrize("work", [
    lambda p: p.simple_chat("hey", "m", 0.5),
    lambda p: p.chat_with_system("sys", "hey", "m", 0.5),
    lambda p: p.chat_with_history([ChatMessage.user("hey")], "m", 0.5),
    lambda p: p.chat_with_tools([ChatMessage.user("hey")], [TOOL], "m", 0.5),
    lambda p: p.chat(ASKED, "m", 0.5),
    lambda p: streamed(p),
    lambda p: drained(p.stream_chat_with_system("sys", "hey", "m", 0.5)),
    lambda p: drained(p.stream_chat_with_history(
        [ChatMessage.user("hey")], "m", 0.5)),
])
@pytest.mark.parametrize("simple", [False, True])
def test_each_way_of_asking_is_one_record(room, work, simple):
    answer = ChatResponse("hi", usage=USAGE)
    inner = OneMember() if simple else ScriptedProvider([answer])

    run(work(room.around(inner)))

    assert room.end.outcome == "ok"
    if not simple:
        assert room.end.input_tokens == 1000
    else:
        assert inner.asked == 1


async def drained(chunks):
    async for _ in chunks:
        pass


class OneMember(Provider):
    """The least that a provider has to be."""

    name = "least"

    def __init__(self):
        self.asked = 0

    async def chat_with_system(self, system_prompt, message, model,
                               temperature):
        self.asked += 1
        return "hi"


@pytest.mark.parametrize(("error", "outcome"), [
    (AuthError("no", status=401), "auth"),
    (RateLimitedError("slow"), "rate_limited"),
    (UnavailableError("down"), "unavailable"), (ValueError("?"), "fault"),
])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_failed_is_kept_and_costs_nothing(room, error, outcome,
                                                      stream):
    provider = room.around(ScriptedProvider([error]))
    with pytest.raises(type(error)):
        run(streamed(provider) if stream else provider.chat(ASKED, "m", 1))

    end = room.end
    assert (end.outcome, end.cost_usd, end.estimated, end.input_tokens) == (
        outcome, 0.0, False, None)


def with_cause(error, *causes):
    inner = error
    for name in causes:
        inner.__cause__ = type(name, (Exception,), {})()
        inner = inner.__cause__
    return error


@pytest.mark.parametrize("error", [
    AuthError("API key not set"), ConfigError("no model"),
    with_cause(UnavailableError("no name"), "ConnectError", "gaierror"),
    with_cause(UnavailableError("down"), "ConnectError",
               "ConnectionRefusedError"),
    with_cause(UnavailableError("slow"), "ConnectTimeout"),
    with_cause(UnavailableError("proxy"), "ProxyError"),
], ids=str)
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_no_server_had_is_not_counted(room, error, stream):
    provider = room.around(ScriptedProvider([error]))
    with pytest.raises(type(error)):
        run(streamed(provider) if stream else provider.chat(ASKED, "m", 1))

    assert room.calls == []


def test_a_connection_that_is_reset_under_way_is_a_call(room):
    error = with_cause(UnavailableError("reset"), "ReadError",
                       "ConnectionResetError")
    with pytest.raises(UnavailableError):
        asks(room.around(ScriptedProvider([error])))

    assert room.end.outcome == "unavailable"


def test_a_time_out_may_have_been_answered(room):
    class ReadTimeout(Exception):
        pass
    error = UnavailableError("vendor did not answer in time")
    error.__cause__ = ReadTimeout()
    with pytest.raises(UnavailableError):
        run(room.around(ScriptedProvider([error])).chat(ASKED, "m", 0.5))

    assert room.end.outcome == "timeout"
    assert room.end.cost_usd == pytest.approx(SENT / 1e6)
    assert room.end.estimated


def test_a_broken_stream_costs_what_was_sent_and_read(room):
    inner = ScriptedProvider(["abcd" * 20], chunk_size=8, cut_after=5)
    with pytest.raises(IncompleteAnswerError):
        run(streamed(room.around(inner)))

    end = room.end
    assert (end.outcome, end.output_tokens, end.estimated) == (
        "incomplete_answer", None, True)
    assert end.cost_usd == pytest.approx((SENT + 10 * 10) / 1e6)


def test_a_stream_without_its_last_chunk_was_broken(room):
    class Short(ScriptedProvider):
        async def stream_chat(self, request, model, temperature):
            yield StreamChunk("abcd", token_count=1)

    assert len(run(streamed(room.around(Short())))) == 1
    assert room.end.outcome == "incomplete_answer"
    assert room.end.cost_usd == pytest.approx((SENT + 10) / 1e6)


def test_a_stream_that_is_left_is_cancelled_and_paid_for(room):
    left = []

    class Watched(ScriptedProvider):
        async def stream_chat(self, request, model, temperature):
            try:
                for _ in range(9):
                    yield StreamChunk("abcd", token_count=1)
            finally:
                left.append(True)

    async def work():
        chunks = room.around(Watched()).stream_chat(ASKED, "m", 0.5)
        async for _ in chunks:
            break
        await chunks.aclose()
        assert left == [True]  # closed in order, not by the collector
    run(work())

    end = room.end
    assert (end.outcome, end.estimated) == ("cancelled", True)
    assert end.cost_usd == pytest.approx((SENT + 10) / 1e6)
    assert end.first_token_ms is not None


def test_who_reads_no_further_than_the_last_chunk_had_an_answer(room):
    async def work():
        chunks = room.around(ScriptedProvider(
            [ChatResponse("", usage=USAGE)])).stream_chat(ASKED, "m", 0.5)
        async for chunk in chunks:
            assert chunk.is_final
            break
        await chunks.aclose()
    run(work())

    assert room.end.outcome == "ok"
    assert room.end.cost_usd == pytest.approx(COST)


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_is_cancelled_is_kept(room, stream):
    class Stuck(ScriptedProvider):
        async def chat(self, request, model, temperature):
            await asyncio.sleep(60)

        async def stream_chat(self, request, model, temperature):
            await asyncio.sleep(60)
            yield StreamChunk()

    async def work():
        provider = room.around(Stuck())
        task = asyncio.ensure_future(
            streamed(provider) if stream else provider.chat(ASKED, "m", 1))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    run(work())

    assert room.end.outcome == "cancelled"
    assert room.end.cost_usd == pytest.approx(SENT / 1e6)


@contextmanager
def server_of(name, *answers):
    """A vendor's double that gives these texts, and its provider."""
    fakes = {"custom": FakeOpenAI, "anthropic-custom": FakeAnthropic,
             "gemini": FakeGemini,
             "ollama": partial(FakeOllama, models=[Model("m")])}
    with fakes[name](list(answers)) as server:
        url = server.url
        settings = ProviderSettings()
        if name.endswith("custom"):
            name = f"{name}:{url}"
        else:
            settings = ProviderSettings(default_provider=name, api_url=url)
        yield server, create_provider(name, "key", settings=settings)


WIRES = ("custom", "anthropic-custom", "gemini", "ollama")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_an_empty_answer_that_is_asked_again_is_paid_for(room, wire,
                                                         stream):
    """Only the second of the two answers stood in the ledger."""
    async def work(answers):
        with server_of(wire, *answers) as (server, provider):
            try:
                around = room.around(provider)
                if stream:
                    await streamed(around)
                else:
                    await around.chat(ASKED, "m", 0.5)
            except IncompleteAnswerError:
                pass
            finally:
                await provider.aclose()
            return len(server.requests)

    assert run(work(["said"])) == 1
    assert run(work(["", "said"])) == 2
    assert run(work(["", ""])) == 2
    never, once, one = (call.end for call in room.calls)
    assert (one.outcome, once.outcome, never.outcome) == (
        "ok", "ok", "incomplete_answer")
    assert once.input_tokens == never.input_tokens == 2 * one.input_tokens
    assert (once.estimated, never.estimated) == (False, False)
    assert once.cost_usd - one.cost_usd == pytest.approx(
        never.cost_usd / 2)


def test_thoughts_that_used_up_all_tokens_are_paid_for(room):
    """A call of 100,000 thought tokens was put down as its prompt."""
    async def work():
        with FakeOpenAI([Reply("", reasoning="hm " * 400,
                               finish_reason="length")]) as server:
            provider = create_provider(f"custom:{server.url}", "key")
            try:
                await streamed(room.around(provider))
            finally:
                await provider.aclose()
    with pytest.raises(IncompleteAnswerError, match="used up its tokens"):
        run(work())

    assert room.end.output_tokens is not None
    assert not room.end.estimated


def test_an_empty_answer_of_one_call_is_not_paid_by_the_next(room):
    class Empty(ScriptedProvider):
        async def chat(self, request, model, temperature):
            set_aside(USAGE)
            return ChatResponse("", usage=USAGE)

    async def work():
        await room.around(Empty()).chat(ASKED, "m", 0.5)
        await room.around(ScriptedProvider([ChatResponse(
            "", usage=USAGE)])).chat(ASKED, "m", 0.5)
        set_aside(USAGE)  # outside of a call
    run(work())

    assert [call.end.cost_usd for call in room.calls] == [
        pytest.approx(COST), pytest.approx(2 * COST)]


def test_an_answer_that_nobody_counted_is_estimated(room):
    answer = ChatResponse(
        "abcd", tool_calls=(ToolCall("1", "look", '{"at": "abcdefghijk"}'),))
    run(room.around(ScriptedProvider([answer])).chat(ASKED, "m", 0.5))

    end = room.end
    assert (end.input_tokens, end.output_tokens, end.estimated) == (
        None, None, True)
    assert end.cost_usd == pytest.approx((SENT + 8 * 10) / 1e6)


@pytest.mark.parametrize("nonsense", [-5, 10**30])
def test_a_count_that_can_not_be_is_none(room, nonsense):
    usage = TokenUsage(nonsense, nonsense, nonsense, nonsense)
    run(room.around(ScriptedProvider([ChatResponse("", usage=usage)])).chat(
        ASKED, "m", 0.5))

    assert room.end.input_tokens is None
    assert room.end.cost_usd == pytest.approx(SENT / 1e6)


def test_calls_at_once_are_records_of_their_own(room):
    async def work():
        provider = room.around(ScriptedProvider())
        await asyncio.gather(*(streamed(provider) for _ in range(20)))
    run(work())

    assert [c.end.outcome for c in room.calls] == ["ok"] * 20


# -- who asked


def test_the_turn_is_on_the_record(room):
    async def work():
        current_turn.set(TurnContext(
            "channel", turn_id="t9", session_id="telegram_7",
            channel="telegram", sender="bob"))
        current_attempt.set(3)
        await room.around(ScriptedProvider()).chat(ASKED, "m", 0.5)
    run(work())

    call, = room.calls
    assert (call.origin, call.turn_id, call.session, call.channel,
            call.attempt, call.provider, call.model) == (
        "channel", "t9", "telegram_7", "telegram", 3, "vendor", "m")


def test_a_call_outside_of_a_turn_is_of_another_origin(room):
    run(room.around(ScriptedProvider()).chat(ASKED, "m", 0.5))

    assert (room.calls[0].origin, room.calls[0].turn_id) == ("other", None)


def test_no_text_and_no_key_is_in_the_ledger(room, path):
    secret = "sk-canary-0123456789"
    request = ChatRequest([ChatMessage.system(secret),
                           ChatMessage.user(secret)])
    inner = ScriptedProvider([
        ChatResponse(secret, usage=USAGE),
        AuthError(f"refused {secret}", hint=secret, status=401),
            secret])
    provider = room.around(inner)
    run(provider.chat(request, "m", 0.5))
    with pytest.raises(AuthError):
        run(provider.chat(request, "m", 0.5))
    run(streamed(provider, request=request))

    assert len(room.calls) == 3
    for file in path.parent.iterdir():
        assert b"canary" not in file.read_bytes()


# -- limits


def asks(provider, model="m", request=ASKED, turn=None):
    async def work():
        if turn is not None:
            current_turn.set(turn)
        return await provider.chat(request, model, 0.5)
    return run(work())


@pytest.mark.parametrize(("settings", "name"), [
    ({"daily_limit_usd": RESERVED * 0.9}, "daily"),
    ({"monthly_limit_usd": RESERVED * 0.9}, "monthly"),
    ({"per_call_limit_usd": RESERVED * 0.9}, "per-call"),
])
def test_a_limit_stops_the_call_before_it_is_made(room, path, settings,
                                                  name):
    inner = ScriptedProvider()
    with pytest.raises(BudgetError, match=f"^Budget exceeded: .*{name}") \
            as caught:
        asks(room.around(inner, **settings))

    assert caught.value.exit_code == 8
    assert inner.requests == []
    assert not path.exists() or room.calls == []
    asks(room.around(inner, enabled=False, **settings))
    assert len(inner.requests) == 1


def test_shorter_answers_fit_under_a_limit(room):
    provider = room.around(ScriptedProvider(),
                           per_call_limit_usd=RESERVED * 0.9)
    asks(provider, request=ChatRequest(ASKED.messages, max_tokens=800))
    with pytest.raises(BudgetError):  # 4,096 tokens where none are named
        asks(provider, request=ChatRequest(ASKED.messages))


def test_images_tools_and_scripts_are_counted_with_sense(room):
    image = "[IMAGE:data:image/png;base64," + "A" * 4_000_000 + "]"
    request = ChatRequest([ChatMessage.user("한" * 400 + image)],
                          tools=[TOOL], max_tokens=0)
    least = (300 + 1600) / 1e6

    with pytest.raises(BudgetError):
        asks(room.around(ScriptedProvider(), per_call_limit_usd=least),
             request=request)
    asks(room.around(ScriptedProvider(), per_call_limit_usd=least + 2e-4),
         request=request)


def test_calls_of_one_turn_share_its_limit(room):
    inner = ScriptedProvider([ChatResponse("", usage=USAGE)], repeat=True)
    provider = room.around(inner)
    turn = TurnContext("ask", max_cost_usd=RESERVED + 2 * COST)
    for _ in range(3):
        asks(provider, turn=turn)

    with pytest.raises(BudgetError, match="--max-cost"):
        asks(provider, turn=turn)
    asks(provider, turn=TurnContext("ask", max_cost_usd=RESERVED))
    assert room.ledger.turn_cost(turn.turn_id) == pytest.approx(3 * COST)


class Longest(ScriptedProvider):
    """One that takes a token for each byte and says all that it may."""

    async def chat(self, request, model, temperature):
        self.requests.append(request)
        sent = sum(len(m.content.encode()) for m in request.messages)
        return ChatResponse("x", usage=TokenUsage(
            sent, request.max_tokens or 10**6))


def in_budget(usd, shortens=True):
    return TurnContext("ask", max_cost_usd=usd, budget=SharedBudget(
        "b", usd, hint="more", shortens=shortens))


@pytest.mark.parametrize("usd", [0.003, 0.011, 0.05, 1.0])
@pytest.mark.parametrize("text", ["x", "\u65e5" * 300, "[IMAGE:data:x]"])
def test_a_budget_is_not_passed_by_an_answer_as_long_as_it_may_be(
        room, usd, text):
    inner = Longest()
    provider, turn = room.around(inner), in_budget(usd)
    request = ChatRequest([ChatMessage.user(text)])

    def spend():
        while True:
            asks(provider, request=request, turn=turn)

    with pytest.raises(BudgetError, match="--max-cost"):
        spend()
    assert all(request.max_tokens for request in inner.requests)
    assert (room.ledger.turn_cost(turn.turn_id) or 0) <= usd


def test_an_answer_is_as_long_as_what_is_left_pays_for(room):
    inner = Longest()
    asks(room.around(inner), turn=in_budget(0.006005),
         request=ChatRequest([ChatMessage.user("x" * 872)]))
    assert inner.requests[0].max_tokens == 500  # 1,000 of prompt, at most

    asks(room.around(inner), turn=in_budget(1.0))
    assert inner.requests[1].max_tokens == 1000  # as it was asked for


def test_a_prompt_that_is_too_dear_alone_is_not_sent(room):
    inner = Longest()
    with pytest.raises(BudgetError):
        asks(room.around(inner), turn=in_budget(0.001),
             request=ChatRequest([ChatMessage.user("x" * 1000)]))

    assert inner.requests == []


def test_answers_that_are_not_to_be_cut_are_not_asked_for(room):
    inner = Longest()
    with pytest.raises(BudgetError):
        asks(room.around(inner), turn=in_budget(0.006, shortens=False))

    assert inner.requests == []


def test_a_fee_beside_the_tokens_is_refused_under_a_budget(room):
    inner = Longest()
    for model in ("gpt-4o-search-preview", "sonar-pro"):
        provider = MeteredProvider(
            inner, name="perplexity" if "sonar" in model else "openai",
            local=False, ledger=room.ledger, prices=PRICES)
        with pytest.raises(ConfigError, match="fee"):
            asks(provider, model=model, turn=in_budget(1.0))

    assert inner.requests == []


@pytest.mark.parametrize(("override", "stops"), [(True, False),
                                                 (False, True)])
def test_max_cost_takes_the_place_of_limits_where_it_may(room, override,
                                                         stops):
    provider = room.around(ScriptedProvider(), daily_limit_usd=1e-6,
                           allow_override=override)
    turn = TurnContext("ask", max_cost_usd=1.0)
    if stops:
        with pytest.raises(BudgetError, match="daily"):
            asks(provider, turn=turn)
    else:
        asks(provider, turn=turn)
        with pytest.raises(BudgetError):  # a turn without it
            asks(provider, turn=TurnContext("ask"))


def test_max_cost_without_a_price_is_a_setting_that_is_missing(room, path):
    inner = ScriptedProvider()
    with pytest.raises(ConfigError) as caught:
        asks(room.around(inner), model='od"d',
             turn=TurnContext("ask", max_cost_usd=1.0))

    assert caught.value.exit_code == 3
    assert "cost.prices.\"od\\\"d\".input" in caught.value.hint
    assert inner.requests == []


@pytest.mark.parametrize("model", ["odd", "half"])
@pytest.mark.parametrize("turn", [None, TurnContext("ask",
                                                    max_cost_usd=1.0)])
def test_under_a_limit_that_was_set_a_model_needs_a_whole_price(
        room, path, model, turn):
    inner = ScriptedProvider()
    provider = room.around(inner, limits_set=turn is None)
    with pytest.raises(ConfigError, match=f"no .*price of {model}") as caught:
        asks(provider, model=model, turn=turn)

    assert caught.value.exit_code == 3
    assert f'cost.prices."{model}".input' in caught.value.hint
    assert f'cost.prices."{model}".output' in caught.value.hint
    assert inner.requests == []
    assert not path.exists() or room.calls == []


def test_half_a_price_is_none(room):
    asks(room.around(ScriptedProvider()), model="half")

    assert room.end.cost_usd is None
    assert "no whole price of half" in room.notes[0]


def test_limits_that_are_off_ask_for_no_price(room):
    asks(room.around(ScriptedProvider(), limits_set=True, enabled=False),
         model="odd")

    assert room.end.outcome == "ok"


def test_free_calls_know_no_limit(room):
    turn = TurnContext("ask", max_cost_usd=0.0)
    tight = {"daily_limit_usd": 1e-9, "per_call_limit_usd": 1e-9}
    asks(room.around(ScriptedProvider(), local=True, **tight),
         model="unknown", turn=turn)
    asks(room.around(ScriptedProvider(), **tight), model="free", turn=turn)

    assert [c.end.cost_usd for c in room.calls] == [0.0, 0.0]
    assert room.notes == []


def test_a_limit_that_is_near_is_said_once(room):
    inner = ScriptedProvider([ChatResponse("", usage=USAGE)], repeat=True)
    provider = room.around(inner, daily_limit_usd=RESERVED * 1.4,
                           monthly_limit_usd=0, warn_at_percent=20)
    asks(provider)
    asks(provider)  # 12 % were spent before it
    assert room.notes == []

    asks(provider)
    with pytest.raises(BudgetError):
        asks(provider)
    note, = room.notes
    assert "daily limit of $0.0141" in note


def test_a_model_without_a_price_is_said_once_a_day(room):
    for _ in range(2):
        asks(room.around(ScriptedProvider()), model="odd")  # as two runs
    note, = room.notes

    assert "no whole price of odd" in note
    assert room.calls[0].end.cost_usd is None


# -- a ledger that fails


def broken(room, error=None, **settings):
    room.ledger = NoLedger(error)
    return room.around(ScriptedProvider(["hi"]), **settings)


@pytest.mark.parametrize("error", [
    StorageError("the disk is full: ledger.db"),
    UnavailableError("ledger.db is locked"),
])
def test_what_a_limit_should_guard_is_not_called_unguarded(room, error):
    with pytest.raises(StorageError, match=r"ledger\.db") as caught:
        asks(broken(room, error))

    assert caught.value.exit_code == 74


@pytest.mark.parametrize("settings", [
    {"local": True, "prices": Prices()}, {"enabled": False},
    {"prices": Prices({"m": PriceSettings(input=0, output=0)})},
    {"prices": Prices()},
    {"daily_limit_usd": 0.0, "monthly_limit_usd": 0.0},
])
def test_where_nothing_is_guarded_it_is_only_said(room, settings):
    assert asks(broken(room, **settings)).text == "hi"

    note, = room.notes
    assert note == ("calls are not recorded: the disk is full: ledger.db "
                    "(free some space)")


def test_no_answer_is_lost_when_its_record_is(room, ledger):
    class NoRoomLeft(NoLedger):
        def reserve(self, start, limits=None, *, wait_s=0.0):
            return ledger.reserve(start, limits, wait_s=wait_s)
    room.ledger = NoRoomLeft()
    provider = room.around(ScriptedProvider(["hi", "ho"]))

    assert asks(provider).text == "hi"
    assert run(streamed(provider))[-1].response.text == "ho"
    note, = room.notes
    assert "the disk is full" in note


@contextmanager
def held(path):
    """Another process writes."""
    with closing(sqlite3.connect(path, isolation_level=None,
                                 check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_the_loop_runs_on_while_another_process_writes(room, ledger, path):
    ledger.release(ledger.reserve(CallStart("p", "m")))

    async def work():
        with held(path) as other:
            task = asyncio.ensure_future(
                room.around(ScriptedProvider()).chat(ASKED, "m", 0.5))
            for _ in range(10):
                await asyncio.sleep(0.005)
            assert not task.done()
            other.execute("ROLLBACK")
            await task
    run(work())

    assert room.end.outcome == "ok"


def test_who_is_cancelled_while_he_waits_leaves_no_reservation(room, ledger,
                                                               path):
    ledger.release(ledger.reserve(CallStart("p", "m")))
    inner = ScriptedProvider()

    async def work():
        with held(path) as other:
            task = asyncio.ensure_future(
                room.around(inner).chat(ASKED, "m", 0.5))
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            other.execute("ROLLBACK")
        for _ in range(100):
            await asyncio.sleep(0.01)
            if ledger._connection.total_changes >= 4:
                break
    run(work())

    assert inner.requests == []
    assert room.calls == []


# -- passed on


def test_the_rest_is_the_inner_providers(room):
    inner = ScriptedProvider(models=["a"], vision=True)
    provider = room.around(inner)

    assert provider.name == "scripted"
    assert provider.capabilities() == inner.capabilities()
    assert provider.capabilities_for("a") == inner.capabilities()
    assert provider.supports_vision()
    assert provider.supports_streaming()
    assert provider.convert_tools([TOOL]) == inner.convert_tools([TOOL])
    assert run(provider.models()) == ["a"]
    run(provider.aclose())
    assert inner.closed


@pytest.mark.parametrize(("tokens", "expected"), [
    (None, 4096), (8192, 8192),
])
def test_a_wire_says_how_long_an_answer_may_be(tokens, expected):
    inner = ScriptedProvider(["hi"])
    if tokens is not None:
        inner.answer_tokens = tokens
    recorded = MeteredProvider(inner, name="p", local=False, ledger=None,
                                prices=None)

    assert recorded._terms.answer_tokens == expected
