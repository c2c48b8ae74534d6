"""What can be done in a page, each as a function of Playwright's page."""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from claw.core.errors import UsageError
from claw.core.tool import Arguments
from claw.core.value import Value
from claw.tools.web.foreign import clean, to_line

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

Do: TypeAlias = Callable[["Page", Arguments], Awaitable[str | bytes]]
TEXT_CHARS = 28_000
_MOST_FOUND = 20
_REF = re.compile(r"@?((?:f\d+)?e\d+)")
_WAIT_MS = 1_000
_SCROLL_PIXELS = 600


class Action(Value):
    """One action; `needs` are the parameters that it can't do without."""

    do: Do
    needs: tuple[str, ...] = ()

    def check(self, args: Arguments) -> None:
        """Raises UsageError for what is missing."""
        for name in self.needs:
            if args.get(name) in (None, ""):
                raise UsageError(f"action={args['action']} needs "
                                 f"'{name}'")


def find_element(page: "Page", args: Arguments) -> "Locator":
    """By a mark of the snapshot (e1), else by a selector of Playwright's.
    Of several the first."""
    selector = args["selector"].strip()
    if ref := _REF.fullmatch(selector):
        selector = f"aria-ref={ref[1]}"
    return page.locator(selector).first


async def _open(page: "Page", args: Arguments) -> str:
    response = await page.goto(args["url"].strip(),
                               wait_until="domcontentloaded")
    status = f" (HTTP {response.status})" if response else ""
    return f"Opened {await _describe(page)}{status}"


async def _describe(page: "Page") -> str:
    title = to_line(await page.title(), 200)
    return to_line(page.url, 2_000) + (f", titled {title!r}" if title else "")


async def _snapshot(page: "Page", args: Arguments) -> str:
    tree = await page.locator("body").aria_snapshot(mode="ai")
    return f"Page {await _describe(page)}\n\n{_cut(tree)}"


def _cut(text: str) -> str:
    text = clean(text)
    if len(text) <= TEXT_CHARS:
        return text
    return (f"{text[:TEXT_CHARS]}\n[... {len(text) - TEXT_CHARS} characters "
            "left out; look at a part of it with get_text and a selector]")


async def _click(page: "Page", args: Arguments) -> str:
    await find_element(page, args).click()
    await page.wait_for_load_state("domcontentloaded")
    return f"Clicked {args['selector']}; the page is {await _describe(page)}"


async def _fill(page: "Page", args: Arguments) -> str:
    await find_element(page, args).fill(args.get("value") or "")
    return f"Filled {args['selector']}"


async def _type(page: "Page", args: Arguments) -> str:
    """Key by key, for what listens to keys."""
    await find_element(page, args).press_sequentially(args["value"])
    return f"Typed into {args['selector']}"


async def _press(page: "Page", args: Arguments) -> str:
    if args.get("selector"):
        await find_element(page, args).press(args["value"])
    else:
        await page.keyboard.press(args["value"])
    await page.wait_for_load_state("domcontentloaded")
    return f"Pressed {args['value']}; the page is {await _describe(page)}"


async def _hover(page: "Page", args: Arguments) -> str:
    await find_element(page, args).hover()
    return f"The pointer is over {args['selector']}"


async def _scroll(page: "Page", args: Arguments) -> str:
    if args.get("selector"):
        await find_element(page, args).scroll_into_view_if_needed()
        return f"Scrolled to {args['selector']}"
    sign = -1 if args["direction"] == "up" else 1
    await page.mouse.wheel(0, sign * _SCROLL_PIXELS)
    return f"Scrolled {args['direction']}"


async def _get_text(page: "Page", args: Arguments) -> str:
    element = find_element(page, args) if args.get("selector") \
        else page.locator("body")
    return _cut(await element.inner_text())


async def _get_title(page: "Page", args: Arguments) -> str:
    return to_line(await page.title(), 1_000)


async def _get_url(page: "Page", args: Arguments) -> str:
    return to_line(page.url, 4_000)


async def _screenshot(page: "Page", args: Arguments) -> bytes:
    shown = find_element(page, args) if args.get("selector") else page
    image: bytes = await shown.screenshot(type="png")
    return image


async def _wait(page: "Page", args: Arguments) -> str:
    if args.get("selector"):
        await find_element(page, args).wait_for(state="visible")
        return f"{args['selector']} is there"
    wait_ms = args.get("milliseconds", _WAIT_MS)
    await page.wait_for_timeout(wait_ms)
    return f"Waited {wait_ms} ms"


async def _is_visible(page: "Page", args: Arguments) -> str:
    seen = await find_element(page, args).is_visible()
    return "true" if seen else "false"


async def _find(page: "Page", args: Arguments) -> str:
    found = FINDERS[args["by"]](page, args["value"])
    count = await found.count()
    lines = [f"Found {count}"]
    for number in range(min(count, _MOST_FOUND)):
        element = found.nth(number)
        text = to_line((await element.inner_text()), 200)
        hidden = "" if await element.is_visible() else " (hidden)"
        lines.append(f"{number + 1}. {text or '(no text)'}{hidden}")
    return "\n".join(lines)


async def _close(page: "Page", args: Arguments) -> str:
    raise AssertionError("closed by the tool")


# What find looks at -> how.
FINDERS: dict[str, Callable[["Page", str], "Locator"]] = {
    "text": lambda page, value: page.get_by_text(value),
    "role": lambda page, value: page.locator(f"role={value}"),
    "label": lambda page, value: page.get_by_label(value),
    "placeholder": lambda page, value: page.get_by_placeholder(value),
    "testid": lambda page, value: page.get_by_test_id(value),
}

ACTIONS = {
    "open": Action(_open, ("url",)),
    "snapshot": Action(_snapshot),
    "click": Action(_click, ("selector",)),
    "fill": Action(_fill, ("selector",)),
    "type": Action(_type, ("selector", "value")),
    "press": Action(_press, ("value",)),
    "hover": Action(_hover, ("selector",)),
    "scroll": Action(_scroll),
    "get_text": Action(_get_text),
    "get_title": Action(_get_title),
    "get_url": Action(_get_url),
    "screenshot": Action(_screenshot),
    "wait": Action(_wait),
    "is_visible": Action(_is_visible, ("selector",)),
    "find": Action(_find, ("value",)),
    "close": Action(_close),
}
# These run unasked: they look at the page that is open.
READING = frozenset(("snapshot", "get_text", "get_title", "get_url", "wait",
                     "is_visible", "find", "scroll", "close"))
