"""Tools for scheduled jobs, over storage/jobs."""
