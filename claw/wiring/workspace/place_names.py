"""Where the runtime's files lie in a workspace."""

from pathlib import Path

from claw.config.places import Places


def queue_path(places: Places) -> Path:
    """The queue of messages."""
    return places.workspace / "state" / "queue.db"


def log_path(places: Places) -> Path:
    """Questions and turns with their answers."""
    return places.workspace / "state" / "log.db"


def state_path(places: Places) -> Path:
    """What a running `claw listen` says of itself every few seconds."""
    return places.workspace / "state" / "listen.json"


def gateway_state_path(places: Places) -> Path:
    """The same of a `claw gateway`."""
    return places.workspace / "state" / "gateway.json"


def people_path(places: Places) -> Path:
    """Whose the names of allow-lists are."""
    return places.workspace / "state" / "people.json"


def private_chats_path(places: Places) -> Path:
    """Which conversations are private, and whose."""
    return places.workspace / "state" / "private_chats.json"


def marks_path(places: Places, channel: str) -> Path:
    """How far a channel has read."""
    return places.workspace / "state" / "marks" / f"{channel}.json"


def map_path(places: Places) -> Path:
    """The answers of claw map."""
    return places.workspace / "state" / "map.db"


def jobs_path(places: Places) -> Path:
    """Scheduled jobs and their runs."""
    return places.workspace / "state" / "jobs.db"


def outgoing_path(places: Places) -> Path:
    """Copies of the files that `claw send` was given."""
    return places.workspace / "outgoing"
