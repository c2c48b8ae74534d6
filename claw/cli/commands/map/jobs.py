"""claw map --list and --forget: what answers are kept of."""

from contextlib import closing

from claw.cli.invocation import Invocation
from claw.cli.show.bars import align
from claw.cli.show.output import join_lines
from claw.core.errors import NotFoundError, UnavailableError
from claw.core.ledger import dollars
from claw.storage.map_answers import Job, JobLock, MapAnswers
from claw.wiring.workspace.place_names import map_path

_TITLE_CHARS = 60


def list_jobs(run: Invocation) -> None:
    """Print the jobs, the last used first."""
    jobs = _read(run)
    if run.print_json_rows("jobs", ({
            "id": job.id, "prompt": job.title, "provider": job.provider,
            "model": job.model, "answers": job.answers,
            "cost": job.cost_usd, "created_at": job.created_at,
            "used_at": job.used_at} for job in jobs)):
        return
    if not jobs:
        run.out.note("no answers are kept")
        return
    run.out.result("\n".join(align([
        (job.id, f"{job.answers:,}", dollars(job.cost_usd),
         job.used_at[:16].replace("T", " "), join_lines(job.model),
         _shorten(job.title)) for job in jobs], right={1, 2})))


def forget_jobs(run: Invocation, wanted: str) -> None:
    """Forget the job whose id begins so, or "all". Raises NotFoundError,
    and UnavailableError for one that runs."""
    jobs = _read(run)
    found = jobs if wanted == "all" else [
        job for job in jobs if job.id.startswith(wanted)]
    if wanted != "all" and len(found) != 1:
        raise NotFoundError(
            f"no job is called {wanted}" if not found
            else f"{len(found)} jobs begin with {wanted}",
            hint="see: claw map --list")
    if found:
        with closing(MapAnswers(map_path(run.places))) as store:
            for job in found:
                _forget(run, store, job)
    answers = sum(job.answers for job in found)
    run.print_result({"forgotten": [job.id for job in found],
                      "answers": answers},
                     f"forgot {answers:,} answers")


def _forget(run: Invocation, store: MapAnswers, job: Job) -> None:
    with closing(JobLock(run.places.workspace, job.id)) as lock:
        if not lock.take():
            raise UnavailableError(f"job {job.id} is running",
                                   hint="try again when it is done")
        store.forget(job.id)


def _read(run: Invocation) -> list[Job]:
    path = map_path(run.places)
    if not path.exists():
        return []
    with closing(MapAnswers(path)) as store:
        return store.list_jobs()


def _shorten(title: str) -> str:
    title = join_lines(title)
    return title if len(title) <= _TITLE_CHARS \
        else title[:_TITLE_CHARS - 1] + "…"
