"""llm_task: one question to a model, without tools; the answer is text, or
JSON that fits a schema."""

import json

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolDeps,
    ToolResult,
    closed_object,
    number,
    optional,
    string,
)
from claw.core.turn import RunsTasks, Task, TurnContext, current_turn
from claw.tools.offer.checked import CheckedTool, read_objects

_SCHEMA_CHARS = 32_768


class LlmTask(CheckedTool):
    """Asks once. It knows nothing but the prompt, and can't do anything:
    what it says is as foreign as what it was given."""

    name = "llm_task"
    reads = repeatable = True
    labels_itself = True
    description = ("Ask a model one question, without tools and without this "
                   "conversation; with a schema the answer is JSON.")

    def __init__(self, deps: ToolDeps) -> None:
        self._policy = deps.policy
        self._tasks: RunsTasks | None = deps.tasks

    def parameters_schema(self) -> Schema:
        models = self._tasks.list_models() if self._tasks else ()
        return closed_object(
            prompt=string("The whole question", minLength=1),
            schema=optional({
                "type": "object",
                "description": "JSON Schema that the answer must fit"}),
            model=optional(string("Another model. There are: "
                                  + (", ".join(models) or "none"))),
            temperature=optional(number("0 to 2", minimum=0, maximum=2)))

    async def execute(self, args: Arguments) -> ToolResult:
        return await super().execute(read_objects(args, ("schema",)))

    def problem(self, args: Arguments) -> str | None:
        return super().problem(read_objects(args, ("schema",)))

    async def run(self, args: Arguments) -> ToolResult:
        self._policy.enforce("read")
        if self._tasks is None:
            raise UnavailableError(
                "no model can be asked here: it needs a turn, as in claw "
                "ask --tools llm_task")
        schema, model = args.get("schema"), args.get("model")
        if model is not None and model not in self._tasks.list_models():
            raise UsageError(
                f"no such model: {model[:100]}; there are: "
                + (", ".join(self._tasks.list_models()) or "none"))
        if schema is not None and len(json.dumps(schema)) > _SCHEMA_CHARS:
            raise UsageError("the schema has more than "
                             f"{_SCHEMA_CHARS:,} characters")
        turn = current_turn.get() or TurnContext("tool")
        return ToolResult(await self._tasks.run_task(
            args["prompt"], turn.hand_over(),
            Task(schema, model, args.get("temperature"))))
