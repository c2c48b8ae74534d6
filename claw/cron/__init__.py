"""The scheduler: jobs of storage/jobs, run when they are due.

`runner` waits and starts, `work` is one run, `prompt` one of the agent,
`notices` tells what came of it, `declared` reads [[cron.jobs]]. A slot that
was begun is never begun again: a run that ended with its process is
interrupted, which its delivery target is told.
"""
