"""Two people and a canary each: no way of reading for one shows the other's.

Everything is stored and read through what the agent, its tools, channels
and programs use. A new way of reading belongs into PATHS.
"""

import asyncio
import contextlib
import hashlib
import importlib.util
import inspect
from types import SimpleNamespace

import pytest

from claw.agent.memory import recall
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import UsageError
from claw.core.memory import (
    CONVERSATION,
    CORE,
    NO_DEPS,
    ClosesMemory,
    EmbedsMemories,
    ExplainsRecall,
    Filters,
    KeepsVersions,
    MemoryDeps,
    MemoryEntry,
    PagesMemories,
    RecallsFiltered,
    RestoresMemories,
    Source,
    StoresSource,
)
from claw.core.tool import Tool, ToolDeps
from claw.core.turn import TurnContext, current_turn
from claw.memory import REGISTRY, times
from claw.memory.settings import MemorySettings
from claw.tools import memory as memory_tools

ANN, BOB = "telegram:ann", "telegram:bob"
GROUP = "telegram:group"
CANARY = {ANN: "Zanzibarann", BOB: "Zanzibarbob"}
TURNS = 12
# What is asked. Shared words, the other's canary itself, its beginning, a
# piece that only LIKE finds, other scripts, a key, the newest.
QUERIES = ("green tea at the harbour", CANARY[ANN], CANARY[BOB],
           CANARY[ANN].lower(), "Zanzibar*", "zanz*", "☂☂", "ibarann",
           "anzibar", "초록색 차", "차", "绿茶", "茶", "緑茶", "wanderer",
           "note_telegram:ann_3", "gone", "old tea", "%", "_", "", "*",
           "x" * 300)


class Letters(EmbeddingProvider):
    """Vectors of the words in a text: what people say alike lies close."""

    name = "letters"
    dimensions = 64
    model = "letters/64"
    is_multilingual = True

    def embed(self, texts):
        return [self._vector(text) for text in texts]

    def _vector(self, text):
        vector = [0.01] * self.dimensions
        for word in text.lower().split():
            digest = hashlib.sha256(word.encode()).digest()
            vector[digest[0] % self.dimensions] += 1.0
        return vector


def note_text(person, number):
    """What both say, and the canary of one."""
    return (f"green tea at the harbour ☂☂ {number} 초록색 차 绿茶 緑茶 "
            f"{CANARY[person]}")


def fill(memory):
    """Two conversations that run at the same time, and what else a store
    may hold of a person."""
    for number in range(TURNS):
        for person in (ANN, BOB):
            memory.store(f"note_{person}_{number}", note_text(person, number),
                         CONVERSATION if number % 2 else CORE, person)
    for person in (ANN, BOB):
        with in_turn(person):
            call(memory_tools.MemoryStore, memory, key=f"tool_{person}",
                 content=f"told to the tool: {CANARY[person]} green tea")
        asyncio.run(recall.remember(
            memory, f"user_msg_{person}",
            f"a message about green tea, {CANARY[person]}", person))
        if isinstance(memory, StoresSource):
            memory.store_from(
                f"said_{person}", f"green tea, said {CANARY[person]}",
                CONVERSATION, person, Source(person, f"{person}:7"))
        if isinstance(memory, RestoresMemories):
            memory.restore([MemoryEntry(
                "", f"old_{person}", f"old tea {CANARY[person]}", "daily",
                "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", person)],
                overwrite=False)
    memory.store("rules", "house rules: green tea for everybody")
    memory.store("plan", "the group meets for green tea", CORE, GROUP)


def change(memory):
    """Leave traces in the history: a memory of each changes hands, one is
    forgotten, one superseded. The moment before."""
    for person in (ANN, BOB):
        memory.store(f"wanderer_{person}", f"wanderer {CANARY[person]}",
                     CORE, person)
        memory.store(f"gone_{person}", f"gone {CANARY[person]}", CORE, person)
        memory.store(f"newer_{person}", f"newer tea {CANARY[person]}", CORE,
                     person)
    moment = times.now()
    for person in (ANN, BOB):
        memory.store(f"wanderer_{person}", "wanderer of everybody")
        memory.forget(f"gone_{person}")
        memory.supersede(f"note_{person}_3", f"newer_{person}")
    return moment


@contextlib.contextmanager
def in_turn(person):
    token = current_turn.set(TurnContext(origin="channel", session_id=person))
    try:
        yield
    finally:
        current_turn.reset(token)


def call(tool, memory, **arguments):
    """What a tool tells the model, good or bad."""
    policy = SimpleNamespace(enforce=lambda _: None)
    made = tool(ToolDeps(None, policy, memory=memory))
    result = asyncio.run(made.execute(arguments))
    return f"{result.output} {result.error}"


BACKENDS = ("sqlite", "sqlite with vectors", "ephemeral", "markdown")


@pytest.fixture(params=BACKENDS)
def memory(request, tmp_path):
    name, _, vectors = request.param.partition(" with ")
    if importlib.util.find_spec(f"claw.memory.{name}") is None:
        pytest.skip(f"no backend {name} yet")
    memory = REGISTRY.load(name).open(
        tmp_path, MemorySettings(),
        deps=MemoryDeps(Letters(), {}) if vectors else NO_DEPS)
    try:
        if vectors and not (isinstance(memory, EmbedsMemories)
                            and memory.embedder):
            pytest.skip("no vectors yet")
        fill(memory)
        if vectors:
            memory.embed_missing(lambda _: None)
            assert memory.unembedded() == 0
        yield memory
    finally:
        if isinstance(memory, ClosesMemory):
            memory.close()


# --- the ways of reading -------------------------------------------------

WIDE = (("2019-01-01T00:00:00Z", None), (None, "2100-01-01"))


def by_recall(memory, query, scope):
    yield memory.recall(query, 200, scope)
    for since, until in WIDE:
        yield memory.recall(query, 200, scope, since, until)
    yield memory.recall(query, 1, scope)


def by_filters(memory, query, scope):
    if isinstance(memory, RecallsFiltered):
        for category in (None, CORE, CONVERSATION, "daily"):
            for since, until in ((None, None), *WIDE):
                yield memory.recall_filtered(
                    query, 200, Filters(category, scope, since, until))


def by_explain(memory, query, scope):
    if isinstance(memory, ExplainsRecall):
        yield memory.explain(query, 200, Filters(session_id=scope))
        yield memory.explain(query, 200, Filters(CORE, scope))


def by_list(memory, query, scope):
    yield memory.list(session_id=scope)
    yield memory.list(CORE, scope)


def by_page(memory, query, scope):
    if isinstance(memory, PagesMemories):
        for category in (None, CORE, CONVERSATION):
            yield memory.page(Filters(category, scope), 200, 0)
            yield memory.page(Filters(category, scope, *WIDE[0]), 3, 3)


def by_tool(memory, query, scope):
    with in_turn(scope):
        if query.strip():
            yield call(memory_tools.MemoryRecall, memory, query=query,
                       limit=100)
        yield call(memory_tools.MemoryRecall, memory, query=query,
                   since="2019-01-01T00:00:00Z", limit=100)


def by_turn(memory, query, scope):
    yield asyncio.run(recall.recall(memory, query, scope, min_score=0.0,
                                    limit=200))


def by_message(memory, query, scope):
    for chat, is_group in ((scope, False), (f"{scope}:dm", False),
                           (GROUP, True)):
        yield asyncio.run(recall.recall_for_channel(
            memory, query, scopes=(scope, chat), is_group=is_group,
            min_score=0.0))


PATHS = (by_recall, by_filters, by_explain, by_list, by_page, by_tool,
         by_turn, by_message)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_no_way_of_reading_shows_what_is_anothers(memory, path):
    """And each shows the person's own, or it would prove nothing."""
    for scope, other in ((ANN, BOB), (BOB, ANN)):
        own = 0
        for query in QUERIES:
            for answer in path(memory, query, scope):
                shown = told(answer, query)
                assert CANARY[other].lower() not in shown, (query, shown)
                own += CANARY[scope].lower() in shown
        answers = sum(1 for _ in path(memory, "green tea", scope))
        assert own or not answers


def told(answer, query):
    """All text of an answer. Explanations repeat the words that were
    asked: they are left out where a canary was."""
    if "zanzibar" in query.lower() and isinstance(answer, list):
        answer = [pair[0] if isinstance(pair, tuple) else pair
                  for pair in answer]
    return repr(answer).lower()


@pytest.mark.parametrize("scope", [
    "", "telegram:", "telegram:an", "telegram:ann ", "TELEGRAM:ANN",
    "telegram:ann%", "telegram:%", "%", "_", "*", "NULL", "None",
    "' OR '1'='1", "telegram:ann\0", "telegram:ann\nsession: x"])
def test_a_name_that_is_only_like_a_persons_opens_nothing(memory, scope):
    for path in (by_recall, by_filters, by_list, by_page, by_turn):
        for query in ("green tea", CANARY[ANN], "☂☂", ""):
            for answer in path(memory, query, scope):
                assert "zanzibar" not in told(answer, query), query


def test_what_belongs_to_nobody_is_for_everybody(memory):
    for scope in (ANN, BOB, "telegram:carol"):
        found = memory.recall("house rules for everybody", 5, scope)
        assert [e.key for e in found][:1] == ["rules"], scope


def test_a_group_hears_of_the_group_and_of_the_one_who_asks(memory):
    shown = asyncio.run(recall.recall_for_channel(
        memory, "where does the group meet for tea?", scopes=(ANN, GROUP),
        is_group=True, min_score=0.0)).block

    assert "the group meets for green tea" in shown
    assert CANARY[ANN] in shown
    assert CANARY[BOB] not in shown


def test_no_memory_tool_tells_of_anothers(memory):
    """Every tool of the room, with whatever it takes."""
    given = {"query": "green tea", "limit": 50, "content": "mine",
             "since": "2019-01-01T00:00:00Z"}
    tools = [tool for _, tool in inspect.getmembers(memory_tools)
             if inspect.isclass(tool) and issubclass(tool, Tool)
             and isinstance(getattr(tool, "name", None), str)]
    assert len(tools) >= 3
    for tool in tools:
        for key in (f"note_{ANN}_1", f"tool_{ANN}", f"user_msg_{ANN}"):
            for query in ("green tea", CANARY[ANN], key):
                known = tool(ToolDeps(None, None, memory=memory)) \
                    .parameters_schema()["properties"]
                arguments = {name: value for name, value in {
                    **given, "key": key, "query": query}.items()
                    if name in known}
                with in_turn(BOB):
                    said = call(tool, memory, **arguments)
                assert CANARY[ANN] not in said, tool.name

    for number in range(TURNS):  # and none of it was written over
        entry = memory.get(f"note_{ANN}_{number}")
        if memory.name != "markdown":
            assert (entry.content, entry.session_id) == (
                note_text(ANN, number), ANN)


def test_the_past_belongs_to_whom_it_belonged_then(memory):
    """What was ann's and is everybody's now was still hers then."""
    if not isinstance(memory, KeepsVersions) \
            or not isinstance(memory, RecallsFiltered):
        pytest.skip("keeps no versions")
    moment = change(memory)

    for scope, other in ((ANN, BOB), (BOB, ANN)):
        own = 0
        for query in QUERIES:
            for category in (None, CORE):
                for as_of in (moment, times.now(), "2100-01-01T00:00:00Z"):
                    filters = Filters(category, scope, as_of=as_of)
                    for answer in _as_of(memory, query, filters):
                        shown = told(answer, query)
                        assert CANARY[other].lower() not in shown, query
                        own += CANARY[scope].lower() in shown
        assert own
    everybody = told(memory.recall_filtered(
        "wanderer", 50, Filters(as_of=moment)), "")
    assert CANARY[ANN].lower() in everybody
    assert CANARY[BOB].lower() in everybody
    # Today it is nobody's, and what it said before is not found.
    today = told(memory.recall("wanderer", 50, BOB), "")
    assert "everybody" in today
    assert CANARY[ANN].lower() not in today


def _as_of(memory, query, filters):
    yield memory.recall_filtered(query, 200, filters)
    if isinstance(memory, ExplainsRecall):
        yield memory.explain(query, 200, filters)
    if isinstance(memory, PagesMemories):
        with contextlib.suppress(UsageError):
            yield memory.page(filters, 200, 0)


def test_neighbours_are_those_of_the_same_conversation(memory):
    """Turns of two people lie beside each other in time and in the file:
    what stands next to a hit of one must not come in from the other."""
    with contextlib.suppress(Exception):
        memory.forget("rules")
    memory.store("n1", "where shall we go in May", CONVERSATION, ANN)
    memory.store("n2", f"to {CANARY[BOB]}", CONVERSATION, BOB)
    memory.store("n3", "unicorn paddock", CONVERSATION, ANN)
    memory.store("n4", f"or elsewhere {CANARY[BOB]}", CONVERSATION, BOB)
    memory.store("n5", "fine, agreed", CONVERSATION, ANN)

    for limit in (1, 3, 50):
        shown = told(memory.recall("unicorn paddock", limit, ANN), "")
        assert "unicorn paddock" in shown
        assert CANARY[BOB].lower() not in shown
    everything = memory.recall("unicorn paddock", 50)
    assert everything[0].content == "unicorn paddock"


def test_without_a_scope_the_owner_sees_all(memory):
    """The canaries are there to be found."""
    shown = told(memory.recall("green tea at the harbour", 200), "")

    assert CANARY[ANN].lower() in shown
    assert CANARY[BOB].lower() in shown
