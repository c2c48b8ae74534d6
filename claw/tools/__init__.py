"""Tools: what the agent can do, one small class each."""

from claw.core.registry import Registry

REGISTRY = Registry("tool", "claw.tools", {
    "shell": "claw.tools.shell:Shell",
    "file_read": "claw.tools.files:FileRead",
    "file_write": "claw.tools.files:FileWrite",
    "file_edit": "claw.tools.files:FileEdit",
    "apply_patch": "claw.tools.patch.tool:ApplyPatch",
    "glob_search": "claw.tools.search:GlobSearch",
    "content_search": "claw.tools.search:ContentSearch",
    "memory_store": "claw.tools.memory:MemoryStore",
    "memory_recall": "claw.tools.memory:MemoryRecall",
    "memory_forget": "claw.tools.memory:MemoryForget",
    "tool_search": "claw.tools.shelf:ToolSearch",
    "memory_purge": "claw.tools.memory:MemoryPurge",
    "git_operations": "claw.tools.git:GitOperations",
    "calculator": "claw.tools.calculator:Calculator",
    "pdf_read": "claw.tools.documents:PdfRead",
    "image_info": "claw.tools.images:ImageInfo",
    "backup": "claw.tools.backup:Backup",
    "sessions_list": "claw.tools.sessions:SessionsList",
    "sessions_history": "claw.tools.sessions:SessionsHistory",
    "model_switch": "claw.tools.model:ModelSwitch",
    "screenshot": "claw.tools.images:Screenshot",
    "web_search_tool": "claw.tools.web.search:WebSearch",
    "web_fetch": "claw.tools.web.fetch:WebFetch",
    "http_request": "claw.tools.web.request:HttpRequest",
    "weather": "claw.tools.web.weather:Weather",
    "pushover": "claw.tools.web.pushover:Pushover",
    "browser": "claw.tools.web.browser:Browser",
    "cron_add": "claw.tools.cron.jobs:CronAdd",
    "cron_list": "claw.tools.cron.jobs:CronList",
    "cron_remove": "claw.tools.cron.jobs:CronRemove",
    "cron_update": "claw.tools.cron.jobs:CronUpdate",
    "cron_runs": "claw.tools.cron.jobs:CronRuns",
    "schedule": "claw.tools.cron.schedule:ScheduleTool",
    "message": "claw.tools.message:Message",
    "ask_user": "claw.tools.ask_user:AskUser",
    "delegate": "claw.tools.delegate:Delegate",
    "read_skill": "claw.tools.skills.tool:ReadSkill",
    "run_skill": "claw.tools.skills.tool:RunSkill",
})

# Their schemas stand in every prompt; tool_search finds the others.
OFFERED = (
    "shell",
    "file_read",
    "file_write",
    "file_edit",
    "memory_store",
    "memory_recall",
    "memory_forget",
    "tool_search",
    "delegate",  # where there are agents to ask
    "read_skill",  # and these where a skill was ever accepted
    "run_skill",
)
