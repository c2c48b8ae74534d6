"""The store of scheduled jobs keeps the contract."""

from claw.storage.jobs.store import SqliteJobs
from claw.testing.contracts.jobs import JobsContract


class TestSqlite(JobsContract):
    def open(self, folder, **options):
        return SqliteJobs(folder / "jobs.db", **options)
