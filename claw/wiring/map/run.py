"""Run a map: open the parts once, ask about each input, keep each answer.

What is kept is not asked again. An answer is kept before it is shown, and
the ledger holds what a call may cost before it is made: a process that is
killed loses the answers under way and no money is spent that a limit does
not know of.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing
from functools import cache

from claw.config.tree import Tree
from claw.core.errors import (
    AuthError,
    BudgetError,
    ClawError,
    ConfigError,
    MissingPartError,
    QuotaError,
    StorageError,
    UnavailableError,
)
from claw.core.value import Value, replace
from claw.net.failures import classify_error
from claw.net.retry import backoff, span
from claw.providers.catalog.choice import Choice
from claw.providers.cost.budget import SharedBudget
from claw.providers.cost.call import ANSWER_TOKENS
from claw.providers.factory import OFFLINE
from claw.providers.offline import NO_MODEL, WAYS
from claw.providers.settings import ReliabilitySettings
from claw.security.estop import StoppedError
from claw.storage.map_answers import Job, JobLock, KeptAnswer, MapAnswers
from claw.wiring.ask.answer import build_options, limit_time, run_turn
from claw.wiring.ask.images import build_images
from claw.wiring.ask.question import Question, Watch
from claw.wiring.compose import Parts, open_parts
from claw.wiring.map.pace import Pace, Stopped
from claw.wiring.map.task import Input, Material, Outcome, Task
from claw.wiring.map.workers import Workers
from claw.wiring.workspace.place_names import map_path

PATIENCE_S = 600.0  # the longest that a server may ask all to wait
SLOWED_MOST = 12    # times that one input is asked too soon
FAILED_MOST = 20    # failures in a row: it is not about the inputs
TOLD_S = 2.0
_LOOK_S = 0.2
# What would be the same for every input.
_ENDS = (AuthError, BudgetError, ConfigError, MissingPartError, QuotaError,
         StoppedError, StorageError)
_END_KINDS = ("auth", "quota", "network", "model_not_found")


class MapWatch(Value):
    """Who reads inputs, and who hears of a running map. `load` may block:
    it runs on a thread."""

    load: Callable[[Input], Material]
    show: Callable[[Outcome], None]
    notify: Callable[[str], None]
    on_choice: Callable[[Choice], None]
    on_job: Callable[[Job], None]


async def run_map(tree: Tree, task: Task, inputs: AsyncIterator[Input],
                  watch: MapWatch) -> ClawError | None:
    """Ask about each input and show what comes of it, in order. Returns
    why it was stopped before the last one, None where it was not.

    Raises ConfigError without a model, and what opening raises.
    """
    options = replace(build_options(task.question, Watch(
        notify=watch.notify, on_choice=refuse_offline)), retries=False,
        use_memory=False)
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(open_parts(tree, options))
        watch.on_choice(parts.choice)
        id = task.build_id(parts.choice, parts.agent.temperature)
        kept = task.question.keep and tree.places.trusted
        if kept:
            lock = stack.enter_context(closing(JobLock(
                tree.places.workspace, id)))
            await _take(lock, watch.notify)
        store = stack.enter_context(closing(MapAnswers(
            map_path(tree.places) if kept else None)))
        if task.fresh:
            store.forget(id)
        job = store.open_job(id, parts.redactor(task.title),
                             parts.redactor(parts.choice.shown),
                             parts.redactor(parts.choice.model or ""))
        watch.on_job(job)
        run = _Run(tree, parts, task, store, job, watch)
        if await Workers(task.workers, run.pace, run.answer).run(
                inputs, watch.show):
            store.end_job(id)
        return run.stopped_by


def refuse_offline(choice: Choice) -> None:
    """Raises ConfigError for the provider without a model."""
    if choice.provider_name == OFFLINE:
        raise ConfigError(f"{NO_MODEL}, and claw map asks one",
                          hint=f"to add a model: {WAYS}")


async def _take(lock: JobLock, notify: Callable[[str], None]) -> None:
    """Wait for another process that runs the same job."""
    if lock.take():
        return
    notify("the same prompt is being mapped by another claw map; waiting "
           "until it is done, so that nothing is paid twice")
    while not lock.take():  # noqa: ASYNC110 (no process tells another)
        await asyncio.sleep(_LOOK_S)


class _Run:
    """One run of a job: what the workers share."""

    def __init__(self, tree: Tree, parts: Parts, task: Task,
                 store: MapAnswers, job: Job, watch: MapWatch) -> None:
        reliability = tree.decode("reliability", ReliabilitySettings)
        self._retries = reliability.provider_retries
        self._base_s = reliability.provider_backoff_ms / 1000
        self._tree = tree
        self._parts = parts
        self._store = store
        self._job = job
        self._watch = watch
        self._running: dict[bytes, asyncio.Future[Outcome | None]] = {}
        self._failed = 0
        self._task = replace(task, question=_limit(
            task, job, parts.ledger.ledger.count_spent))
        self.pace = Pace(task.workers)
        self.stopped_by: ClawError | None = None

    async def answer(self, worker: int, one: Input) -> Outcome:
        """What becomes of an input. Raises Stopped."""
        if one.is_blank:
            return Outcome(one)
        try:
            material = (Material(one.text) if one.file is None else
                        await asyncio.to_thread(self._watch.load, one))
        except ClawError as error:
            if isinstance(error, _ENDS):
                raise self._stop(error) from error
            return Outcome(one, error=error)
        key = self._task.hash_input(material)
        while (twin := self._running.get(key)) is not None:
            found = await asyncio.shield(twin)
            if found is not None:
                return replace(found, input=one, kept=True)
        held = self._store.get(self._job.id, key)
        if held is not None:
            return Outcome(one, held, kept=True)
        return await self._share(key, self._ask_about(worker, one, material,
                                                      key))

    async def _share(self, key: bytes, work: Awaitable[Outcome]) -> Outcome:
        """Others with the same question wait for this answer."""
        shared = self._running[key] = asyncio.get_running_loop(
            ).create_future()
        outcome = None
        try:
            outcome = await work
            return outcome
        finally:
            del self._running[key]
            shared.set_result(outcome)

    async def _ask_about(self, worker: int, one: Input, material: Material,
                         key: bytes) -> Outcome:
        """Ask, and ask again where that may help."""
        failed = slowed = 0
        while True:
            await self.pace.ready(worker)
            began = time.monotonic()
            try:
                answer = await self._ask(material)
            except ClawError as error:
                failure = classify_error(error)
                if failure.kind in ("rate", "overload") \
                        and failure.retryable:
                    slowed += 1
                    self._slow_down(error, began, slowed)
                    continue
                failed += 1
                if not failure.retryable or failed > self._retries:
                    return self._fail(one, error)
                await self.pace.pause(self._back_off(failed))
                continue
            self._failed = 0
            self.pace.worked()
            try:
                self._store.put(self._job.id, key, answer)
            except (StorageError, UnavailableError) as error:
                self._stop(error)
            return Outcome(one, answer)

    async def _ask(self, material: Material) -> KeptAnswer:
        """One turn, without a memory and without tools."""
        question = self._task.build_question(material)
        parts = self._parts
        if material.images:  # what shows them keeps them as long as it lives
            images = cache(lambda: build_images(
                self._tree, providers=self._parts.providers))
            parts = replace(parts, images=images, agent=replace(
                parts.agent, images=images))
        async with limit_time(question.timeout_s):
            said = await run_turn(self._tree, parts, question, Watch(
                notify=self._watch.notify), time.monotonic())
        usage, clean = said["usage"], parts.redactor
        return KeptAnswer(clean(said["text"]), clean(said["provider"]),
                          clean(said["model"]), usage["input_tokens"],
                          usage["output_tokens"], said["cost"])

    def _slow_down(self, error: ClawError, began: float, times: int) -> None:
        """All wait. Raises Stopped where waiting is no use."""
        asked = getattr(error, "retry_after_s", None)
        if (asked or 0.0) > PATIENCE_S or times > SLOWED_MOST:
            raise self._stop(error) from error
        wait = max(asked or 0.0, self._back_off(times, cap=60.0))
        longer = self.pace.slow_down(wait, began)
        if longer > TOLD_S:
            self._watch.notify(f"{self._parts.choice.shown} is asked too "
                               f"much; all wait {span(wait)}")

    def _back_off(self, times: int, cap: float = 10.0) -> float:
        """Half of it for certain: many wait, and for the same."""
        most = min(cap, max(self._base_s, 0.05) * 2.0 ** min(times, 10))
        return most / 2 + backoff(0, base=most / 2, cap=cap,
                                  rng=random.random)

    def _fail(self, one: Input, error: ClawError) -> Outcome:
        """An input without an answer. Raises Stopped where the next would
        have none either."""
        self._failed += 1
        if isinstance(error, _ENDS) \
                or classify_error(error).kind in _END_KINDS:
            raise self._stop(error) from error
        if self._failed >= FAILED_MOST:
            raise self._stop(type(error)(
                f"{FAILED_MOST} inputs in a row have no answer, the last "
                f"one: {error.message}", hint=error.hint)) from error
        return Outcome(one, error=error)

    def _stop(self, error: ClawError) -> Stopped:
        """Nothing more is asked; the first error says why."""
        self.stopped_by = self.stopped_by or error
        self.pace.stop()
        return Stopped()


def _limit(task: Task, job: Job,
           count_spent: Callable[[str], float]) -> Question:
    """The question with the money that all runs of the job share until
    they are through. Under a limit an answer has a greatest length, else
    nobody knew what a call may cost."""
    question = task.question
    most = question.max_cost_usd
    budget = SharedBudget(
        job.spending, most, count_spent(job.spending),
        hint="run it again with more, or make calls cheaper with "
             "--max-tokens or -m; what is answered is kept")
    return replace(question, budget=budget, use_memory=False, tools=(),
                   keep=False, max_tokens=question.max_tokens or (
                       None if most is None else ANSWER_TOKENS))
