"""claw cron: jobs for later, when they come, and what came of them."""
