"""Numbers with their noun: "1 memory", "1,200 memories"."""


def plural(number: int, one: str, many: str | None = None) -> str:
    """The number with commas and the noun that goes with it; `many` where
    it is not `one` and an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def memories(number: int) -> str:
    """So many memories."""
    return plural(number, "memory", "memories")
