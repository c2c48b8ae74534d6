"""Tools: what the agent can do, one small class each."""

from claw.core.registry import Registry

REGISTRY = Registry("tool", "claw.tools", {
    "shell": "claw.tools.shell:Shell",
    "file_read": "claw.tools.files:FileRead",
    "file_write": "claw.tools.files:FileWrite",
    "file_edit": "claw.tools.files:FileEdit",
    "memory_store": "claw.tools.memory:MemoryStore",
    "memory_recall": "claw.tools.memory:MemoryRecall",
    "memory_forget": "claw.tools.memory:MemoryForget",
    "cron_add": "claw.tools.cron.jobs:CronAdd",
    "cron_list": "claw.tools.cron.jobs:CronList",
    "cron_remove": "claw.tools.cron.jobs:CronRemove",
    "cron_update": "claw.tools.cron.jobs:CronUpdate",
    "cron_runs": "claw.tools.cron.jobs:CronRuns",
    "schedule": "claw.tools.cron.schedule:ScheduleTool",
})
