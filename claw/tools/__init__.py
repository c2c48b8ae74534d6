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
    "message": "claw.tools.message:Message",
    "ask_user": "claw.tools.ask_user:AskUser",
    "delegate": "claw.tools.delegate:Delegate",
})
