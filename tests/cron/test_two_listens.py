"""Two real `claw listen` in one workspace, the one that works killed."""

import pytest

from claw.testing.prove.bench import Bench
from claw.testing.prove.table import prove


@pytest.mark.slow
def test_no_time_of_a_job_is_run_twice_or_passed_over(tmp_path):
    proof = prove("jobs", Bench(tmp_path, short=True))

    assert proof.broken == []
    assert proof.more["runs"] > 2
