"""A job by what a person types: its id, its name, or how one of them
begins. Pure."""

from collections.abc import Sequence

from claw.core.errors import NotFoundError, UsageError
from claw.core.registry import nearest
from claw.storage.jobs.model import Job, clean_name

_MOST_NAMED = 5
_WORK_CHARS = 24


def find_job(jobs: Sequence[Job], word: str) -> Job:
    """Raises NotFoundError, and UsageError where several are meant."""
    word = word.strip()
    folded = word.casefold()
    for found in (
            [job for job in jobs if word == job.id],
            [job for job in jobs if word == job.spec.name],
            [job for job in jobs if folded and folded == _fold_name(job)],
            [job for job in jobs if folded and (
                job.id.startswith(folded)
                or _fold_name(job).startswith(folded))]):
        if any(job.spec.made_in is not None and job.id != word
               for job in found):  # a name of his choice hides no other's id
            found += [job for job in jobs if job not in found
                      and job.id.startswith(folded)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{word!r:.80} is {len(found)} jobs", hint="say which: "
                + ", ".join(_describe(job) for job in found[:_MOST_NAMED]))
    near = nearest(word, [name for job in jobs for name in (
        job.id, job.spec.name) if name])
    raise NotFoundError(
        f"no job {word!r:.80}", hint=f'did you mean "{near}"?' if near
        else "claw cron list shows those there are" if jobs
        else "there are none; make one: claw cron add")


def describe_job(job: Job) -> str:
    """Its name; of one without its id and how its work begins:
    "686495592de8 ($ df -h .)"."""
    spec = job.spec
    if spec.name:
        return spec.name
    work = clean_name(f"$ {spec.command}" if spec.command else
                      spec.prompt or "")
    return f"{job.id} ({work[:_WORK_CHARS].strip()}" + (
        "...)" if len(work) > _WORK_CHARS else ")")


def _fold_name(job: Job) -> str:
    return (job.spec.name or "").casefold()


def _describe(job: Job) -> str:
    return f"{job.id} ({job.spec.name})" if job.spec.name else job.id
