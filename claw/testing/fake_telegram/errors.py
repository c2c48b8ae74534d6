"""The errors that the Bot API answers with."""

from typing import Any

CONFLICT_POLL = (
    "Conflict: terminated by other getUpdates request; make sure that only "
    "one bot instance is running")
CONFLICT_SET = "Conflict: terminated by setWebhook request"
CONFLICT_WEBHOOK = (
    "Conflict: can't use getUpdates method while webhook is active; use "
    "deleteWebhook to delete the webhook first")


class ApiError(Exception):
    """An answer with `ok` false."""

    def __init__(self, code: int, description: str,
                 parameters: dict[str, Any] | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error_code": self.code,
                                "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad(text: str) -> ApiError:
    """The commonest error of all."""
    return ApiError(400, f"Bad Request: {text}")
