"""A job by what a person types."""

import pytest

from claw.core.errors import NotFoundError, UsageError
from claw.storage.jobs.lookup import find_job
from claw.storage.jobs.model import Job, JobSpec
from claw.storage.jobs.schedule import Schedule

EVERY = Schedule("every", every_ms=1000)
JOBS = [Job(id, JobSpec(EVERY, name=name, command="ls"), "2026-01-01")
        for id, name in (("ab12", "digest"), ("ab34", "Digest of mail"),
                         ("cd56", None), ("ef78", "CD"), ("0a0a", "ab12x"))]


@pytest.mark.parametrize(("word", "id"), [
    ("ab12", "ab12"), ("ab34", "ab34"), ("cd5", "cd56"), (" cd56 ", "cd56"),
    ("digest", "ab12"), ("DIGEST", "ab12"), ("digest of", "ab34"),
    ("cd", "ef78"), ("ab12x", "0a0a"),
])
def test_an_id_a_name_or_how_one_begins_is_a_job(word, id):
    assert find_job(JOBS, word).id == id


def test_a_name_that_somebody_chose_hides_no_id():
    made = Job("99ff", JobSpec(EVERY, name="cd5", command="ls",
                               made_in="telegram_7_7"), "2026-01-01")

    with pytest.raises(UsageError, match="2 jobs"):
        find_job([*JOBS, made], "cd5")
    assert find_job([*JOBS, made], "cd56").id == "cd56"


@pytest.mark.parametrize(("word", "error", "says"), [
    ("ab", UsageError, "ab12 (digest), ab34 (Digest of mail), 0a0a (ab12x)"),
    ("di", UsageError, "ab12"),
    ("digset", NotFoundError, 'did you mean "digest"?'),
    ("", NotFoundError, "claw cron list"),
    ("\ud800\0", NotFoundError, "claw cron list"),
])
def test_what_is_none_or_several_says_so(word, error, says):
    with pytest.raises(error) as caught:
        find_job(JOBS, word)
    assert says in str(caught.value.hint)


def test_without_jobs_the_way_to_one_is_named():
    with pytest.raises(NotFoundError) as caught:
        find_job([], "digest")
    assert "claw cron add" in str(caught.value.hint)
