"""What every store of scheduled jobs must do.

    from claw.testing.contracts.jobs import JobsContract

    class TestMine(JobsContract):
        def open(self, folder, **options):
            return MyJobs(folder / "jobs.db", **options)

`open` gives the store of a folder, the same one each time; `options` are
those of `SqliteJobs`. pytest collects the rest.
"""

from pathlib import Path
from typing import Any

from claw.core.errors import NotFoundError, UsageError
from claw.core.value import replace
from claw.storage.jobs.model import Delivery, JobSpec
from claw.storage.jobs.runs import LEASE_S
from claw.storage.jobs.schedule import Schedule, parse_schedule
from claw.storage.jobs.store import HISTORY, OUTPUT_BYTES, SqliteJobs

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
HOURLY = Schedule("every", every_ms=3_600_000)
ONCE = Schedule("at", at="2026-01-01T01:00:00+00:00")
WHOLE = JobSpec(
    Schedule("cron", expr="0 9 * * MON-FRI", tz="Europe/Berlin"), "agent",
    name="아침 ☀", prompt="Was steht an?\n¿y luego?", model="gpt-5",
    session_target="main", allowed_tools=("web_fetch", "memory_recall"),
    delivery=Delivery("announce", "telegram", "-100:7", False),
    source="declarative", origin="web", missed="all", precheck="test -e x",
    max_silence_s=86_400, timeout_s=60, monthly_cents=12.5)
WRONG = (
    replace(WHOLE, prompt=" "), replace(WHOLE, command="ls"),
    replace(WHOLE, job_type="shell"), replace(WHOLE, job_type="sql"),
    replace(WHOLE, session_target="all"), replace(WHOLE, missed="none"),
    replace(WHOLE, precheck=" "), replace(WHOLE, timeout_s=0),
    replace(WHOLE, monthly_cents=float("nan")),
    replace(WHOLE, max_silence_s=-1), replace(WHOLE, prompt="\ud800"),
    replace(WHOLE, delivery=Delivery("announce", "nosuch", "7")),
    replace(WHOLE, delivery=Delivery("announce", "telegram")),
    replace(WHOLE, schedule=Schedule("at", at="2025-01-01T00:00:00+00:00")))


class JobsContract:
    """Tests of one store; subclass and write `open`."""

    now = START

    def open(self, folder: Path, **options: Any) -> SqliteJobs:
        raise NotImplementedError

    def _open(self, folder: Path, **options: Any) -> SqliteJobs:
        return self.open(folder, now=lambda: self.now,
                         channels=lambda: ["telegram"], **options)

    def _add(self, store: SqliteJobs, schedule: Schedule = HOURLY,
             **more: Any) -> str:
        return store.add(JobSpec(schedule, command="ls", **more)).id

    # jobs

    def test_an_empty_store_holds_nothing(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)

        assert (store.list_jobs(), store.list_due()) == ([], [])
        for verb in (store.get, store.remove, store.list_runs):
            assert _raises(NotFoundError, lambda verb=verb: verb("none"))

    def test_a_job_is_kept_as_it_was_given(self, tmp_path: Path) -> None:
        job = self._open(tmp_path).add(WHOLE)

        assert self._open(tmp_path).get(job.id) == job
        assert (job.spec, job.created_at, job.next_run, job.last_run) == (
            WHOLE, "2026-01-01T00:00:00.000Z", "2026-01-01T08:00:00.000Z",
            None)

    def test_jobs_are_listed_in_the_order_they_were_made(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        ids = [self._add(store) for _ in range(5)]

        assert [job.id for job in store.list_jobs()] == ids

    def test_what_can_not_run_is_refused(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        kept = store.add(WHOLE)
        for spec in WRONG:
            assert _raises(UsageError, lambda spec=spec: store.add(spec))
            assert _raises(UsageError, lambda spec=spec: store.update(
                kept.id, lambda _: spec))

        assert store.list_jobs() == [kept]

    def test_a_change_keeps_the_rest(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        job = store.add(WHOLE)

        changed = store.update(job.id, lambda spec: replace(
            spec, prompt="new"))

        assert changed == store.get(job.id) == replace(
            job, spec=replace(WHOLE, prompt="new"))

    def test_a_paused_job_is_not_due_and_comes_back_in_the_future(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        store.update(id, lambda spec: replace(spec, enabled=False))
        self.now = START + 9000

        assert store.list_due() == []
        job = store.update(id, lambda spec: replace(spec, enabled=True))
        assert job.next_run == "2026-01-01T03:00:00.000Z"

    def test_a_job_whose_channel_is_gone_can_be_paused(
            self, tmp_path: Path) -> None:
        id = self._open(tmp_path).add(WHOLE).id
        store = self.open(tmp_path, now=lambda: self.now)

        store.update(id, lambda spec: replace(spec, enabled=False))

        assert not store.get(id).spec.enabled
        assert _raises(UsageError, lambda: store.update(
            id, lambda spec: replace(spec, enabled=True)))

    def test_a_removed_job_takes_its_runs_along(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        store.begin_run(id, "slot")

        assert store.remove(id).id == id
        assert store.list_jobs() == []
        assert _raises(NotFoundError, lambda: store.list_runs(id))

    # runs

    def test_due_jobs_come_longest_overdue_first(self, tmp_path: Path
                                                 ) -> None:
        store = self._open(tmp_path)
        later = self._add(store)
        sooner = self._add(store, Schedule("every", every_ms=60_000))
        self.now = START + 3600

        assert [job.id for job in store.list_due()] == [sooner, later]
        assert [job.id for job in store.list_due(1)] == [sooner]

    def test_a_slot_is_given_once_and_the_job_moves_on(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        self.now = START + 2.5 * 3600
        slot = store.get(id).next_run or ""

        run = store.begin_run(id, slot)

        assert run is not None
        assert (run.status, run.slot, run.finished_at) == (
            "running", "2026-01-01T01:00:00.000Z", None)
        assert store.begin_run(id, slot) is None
        assert store.list_due() == []
        assert store.get(id).next_run == "2026-01-01T03:00:00.000Z"

    def test_a_slot_that_was_run_does_not_hold_its_job_up(
            self, tmp_path: Path) -> None:
        """The clock went back, and the job was paused and resumed."""
        store = self._open(tmp_path)
        id = self._add(store)
        slot = store.get(id).next_run or ""
        self.now = START + 3600
        assert store.begin_run(id, slot)
        self.now = START + 1800
        store.update(id, lambda spec: replace(spec, enabled=False))
        store.update(id, lambda spec: replace(spec, enabled=True))
        assert store.get(id).next_run == "2026-01-01T02:00:00.000Z"
        self.now = START + 3600

        assert store.begin_run(id, slot) is None
        assert store.list_due() == []

    def test_a_moment_between_two_milliseconds_comes_once(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, parse_schedule(
            {"kind": "at", "at": "2026-01-01T00:00:01.0006Z"}))
        slot = store.get(id).next_run or ""
        self.now = START + 1.0005

        assert store.begin_run(id, slot)
        assert store.get(id).next_run is None

    def test_the_end_of_a_run_is_told(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        run = store.begin_run(id, "slot")
        assert run is not None
        self.now = START + 1.5

        store.end_run(run, "done: \ud800 ok", status="error")

        (kept,) = store.list_runs(id)
        assert (kept.status, kept.output, kept.duration_ms) == (
            "error", "done: ? ok", 1500)
        job = store.get(id)
        assert (job.last_run, job.last_status, job.spec.enabled) == (
            kept.started_at, "error", True)

    def test_a_long_output_is_cut(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        run = store.begin_run(self._add(store), "slot")
        assert run is not None
        store.end_run(run, "한" * OUTPUT_BYTES)

        output = store.list_runs(run.job_id)[0].output or ""
        text, mark = output.split("\n")
        assert (set(text), mark) == ({"한"},
                                     "... [output truncated at 16 KiB]")
        assert OUTPUT_BYTES - 3 < len(text.encode()) <= OUTPUT_BYTES

    def test_the_last_runs_are_kept_newest_first(self, tmp_path: Path
                                                 ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        for number in range(HISTORY + 5):
            run = store.begin_run(id, str(number))
            assert run is not None
            store.end_run(run, "")

        slots = [run.slot for run in store.list_runs(id)]
        assert slots == [str(number) for number in range(HISTORY + 4, 4, -1)]
        assert len(store.list_runs(id, 3)) == 3

    def test_a_job_for_once_goes_when_it_succeeded(self, tmp_path: Path
                                                   ) -> None:
        store = self._open(tmp_path)
        for success, goes, left in ((True, True, []), (False, True, [False]),
                                    (True, False, [False, False])):
            self.now = START
            id = self._add(store, ONCE, delete_after_run=goes)
            self.now = START + 3600
            run = store.begin_run(id, store.get(id).next_run or "")
            assert run is not None
            store.end_run(run, "", status="ok" if success else "error")

            assert [job.spec.enabled for job in store.list_jobs()] == left

    def test_times_that_passed_are_made_up_for_as_the_job_says(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        for missed, runs, skipped in (("skip", [4], [1]), ("once", [1, 4], []),
                                      ("all", [1, 2, 3, 4], [])):
            self.now = START
            id = self._add(store, missed=missed)
            self.now = START + 3.5 * 3600
            begun = self._run_due(store, id)
            self.now = START + 4 * 3600

            assert begun + self._run_due(store, id) == list(map(_slot, runs))
            assert [run.slot for run in store.list_runs(id)
                    if run.status == "skipped"] == list(map(_slot, skipped))
            store.remove(id)

    def test_a_time_of_just_now_was_not_missed(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, missed="skip")
        self.now = START + 3600 + 59

        assert self._run_due(store, id) == [_slot(1)]

    def test_a_clock_that_jumps_by_a_year_brings_no_year_of_runs(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, missed="all")
        self.now = START + 366 * 86_400
        first, *rest = self._run_due(store, id)

        assert first == _slot(1)
        assert len(rest) == 7 * 24

    def test_a_time_for_once_that_was_missed_is_said(self, tmp_path: Path
                                                     ) -> None:
        store = self._open(tmp_path)
        id = self._add(store, ONCE, missed="skip")
        self.now = START + 7200

        assert self._run_due(store, id) == []
        job = store.get(id)
        assert (job.spec.enabled, job.last_status) == (False, "skipped")

    def test_a_job_does_not_run_twice_at_once(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        self.now = START + 3600
        run = store.begin_run(id, _slot(1), 600)
        assert run is not None
        self.now = START + 7200 - 10
        assert store.begin_run(id, "now") is not None  # 300 s at most

        self.now = START + 7200
        assert (store.list_due(), store.find_next_due()) == (
            [], START + 7200 - 10 + LEASE_S)
        assert store.begin_run(id, _slot(2)) is None
        assert store.get(id).next_run == _slot(2)

    def test_a_run_beside_the_schedule_leaves_it(self, tmp_path: Path
                                                 ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        self.now = START + 4000
        run = store.begin_run(id, "now")
        assert run is not None
        store.end_run(run, "")

        assert self._run_due(store, id) == [_slot(1)]

    def test_a_run_lasts_as_long_as_it_is_renewed(self, tmp_path: Path
                                                  ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        run = store.begin_run(id, "now", 30)
        assert run is not None
        self.now = START + 29
        assert store.renew_run(run, 30, turn_id="t1")
        self.now = START + 58
        assert store.recover_runs() == []

        self.now = START + 59
        (lost,) = store.recover_runs()
        assert (lost.id, lost.status, lost.turn_id, lost.delivery) == (
            run.id, "interrupted", "t1", None)
        assert not store.renew_run(run, 30)
        assert not store.end_run(run, "late")
        assert store.list_runs(id) == [lost]
        assert store.recover_runs() == []

    def test_a_clock_that_was_set_back_keeps_no_lease(self, tmp_path: Path
                                                      ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        store.begin_run(id, "now", 30)
        self.now = START - 3600

        assert [run.status for run in store.recover_runs()] == [
            "interrupted"]

    def test_what_is_owed_is_kept_until_it_is_delivered(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, ONCE, delete_after_run=True,
                       delivery=Delivery("announce", "telegram", "7"))
        self.now = START + 3600
        run = store.begin_run(id, store.get(id).next_run or "")
        assert run is not None
        store.end_run(run, "done", cost_usd=0.5, owed=True)

        (owed,) = store.list_owed()
        assert (owed.output, owed.delivery, owed.cost_usd) == (
            "done", "owed", 0.5)
        store.mark_delivery(owed, "awaited")
        assert [run.delivery for run in store.list_owed()] == ["awaited"]
        store.mark_delivery(owed, "failed", "no such chat")

        (kept,) = store.list_runs(id)
        assert (kept.status, kept.output) == ("error", "done\nno such chat")
        assert (store.list_owed(), store.get(id).last_status) == ([], "error")

    def test_what_was_delivered_of_a_job_for_once_goes_with_it(
            self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, ONCE, delete_after_run=True)
        self.now = START + 3600
        run = store.begin_run(id, store.get(id).next_run or "")
        assert run is not None
        store.end_run(run, "done", owed=True)
        store.mark_delivery(store.list_owed()[0], "sent")

        assert store.list_jobs() == []

    def test_an_interrupted_run_owes_a_notice(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, delivery=Delivery("announce", "telegram", "7"))
        store.begin_run(id, "now", 30)
        self.now = START + 60

        store.begin_run(id, "again", 30)
        assert [run.slot for run in store.list_owed()] == ["now"]

    def test_success_ends_a_silence(self, tmp_path: Path) -> None:
        store = self._open(tmp_path)
        id = self._add(store, max_silence_s=60)
        for minute, (status, since) in enumerate((
                ("error", "2026-01-01T00:00:00.000Z"),
                ("skipped", "2026-01-01T00:02:00.000Z"),
                ("ok", "2026-01-01T00:03:00.000Z")), 1):
            self.now = START + 60 * minute
            run = store.begin_run(id, status)
            assert run is not None
            store.end_run(run, "", status=status)
            assert store.get(id).quiet_since == since
        store.mark_silent(id, True)
        assert store.get(id).silent

    # clocks

    def test_a_clock_that_goes_back_repeats_no_time(self, tmp_path: Path
                                                    ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        self.now = START + 3 * 3600
        for hour in (1, 2, 3):
            self.now = START + hour * 3600
            assert self._run_due(store, id) == [_slot(hour)]
        self.now = START

        store.rewind()
        assert store.get(id).next_run == _slot(4)

    def test_a_clock_that_was_years_ahead_stops_no_job(self, tmp_path: Path
                                                       ) -> None:
        store = self._open(tmp_path)
        id = self._add(store)
        self.now = START + 3600
        assert self._run_due(store, id) == [_slot(1)]
        for day in (3650, 3651):
            self.now = START + day * 86_400
            assert len(self._run_due(store, id)) == 1
        self.now = START + 2 * 3600 - 1

        store.rewind()
        assert store.get(id).next_run == _slot(3)  # 2 was made up for

    def _run_due(self, store: SqliteJobs, id: str) -> list[str]:
        """The slots that are run until nothing is due."""
        slots = []
        while any(job.id == id for job in store.list_due()):
            run = store.begin_run(id, store.get(id).next_run or "")
            if run is not None:
                slots.append(run.slot)
                store.end_run(run, "")
        return slots


def _slot(hour: int) -> str:
    return f"2026-01-01T{hour:02d}:00:00.000Z"


def _raises(kind: type[Exception], work: Any) -> bool:
    try:
        work()
    except kind:
        return True
    return False
