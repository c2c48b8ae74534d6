"""claw cost: what calls of models were, took and cost."""

import re
import time
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any

import typer
from msgspec.structs import replace

from claw.cli.invocation import Invocation
from claw.cli.lazy import examples
from claw.cli.show.bars import count_cells, draw_bar, fit, lay_out
from claw.cli.show.output import Output, join_lines
from claw.core.errors import NotFoundError, UsageError
from claw.core.ledger import (
    PRICE_KEYS,
    Call,
    Spent,
    Total,
    dollars,
    lowest,
    price_hint,
)
from claw.core.value import Value, made
from claw.providers.settings import CostSettings
from claw.storage.ledger_reader import NAMES, open_reader
from claw.storage.ledger_tables import local_day
from claw.text.plural import plural
from claw.wiring.models.ledger import (
    ledger_path,
    read_cost_settings,
    read_daily_cents,
)

_DAYS = 30
_BY = (*NAMES, "turn", "kind")
_HEAD = ("calls", "failed", "tokens in", "out", "cached", "cost")
_CALL_HEAD = ("time", "turn", "origin", "provider", "model", "tokens in",
              "out", "cost", "first token", "took", "outcome")
_BAR_CELLS, _LEAST_BAR = 24, 6
_RIGHT = frozenset((*_HEAD, "first token", "took"))


class Span(Value):
    """Days, both part of it."""

    since: str
    until: str


class Found(Value):
    """What was looked up."""

    totals: Mapping[str, Total] = made(factory=dict)
    calls: tuple[Call, ...] = ()
    spent: Spent = Spent()
    unpriced: tuple[str, ...] = ()
    unfinished: Total = Total()


@examples("claw cost", "claw cost --today --by model",
          "claw cost --by month --since 2026-01-01",
          "claw cost --calls 20", "claw cost --json | jq .total_usd")
def cost(context: typer.Context,
         by: Annotated[str, typer.Option(
             "--by", metavar="WHAT", help="A row for each day, month, "
             "origin, model, provider, turn or kind."
         )] = "day",
         since: Annotated[str | None, typer.Option(
             "--since", metavar="DATE", help="First day, e.g. 2026-11-20 or "
                                             "7d.")] = None,
         until: Annotated[str | None, typer.Option(
             "--until", metavar="DATE", help="Last day.")] = None,
         today: Annotated[bool, typer.Option(
             "--today", help="Only this day.")] = False,
         calls: Annotated[int | None, typer.Option(
             "--calls", metavar="N", min=1, max=100_000,
             help="The last single calls, each with its time to the first "
                  "token and its outcome.")] = None) -> None:
    """Show what models cost, by day, origin or model.

    Covers the last 30 days by default, in the local time zone. A row shows
    calls, failed calls, tokens in, out and cached, and the cost; "?" marks
    calls without a known price.
    """
    run = Invocation.of(context)
    if by not in _BY:
        raise UsageError(f"--by: {by!r} is none of {', '.join(_BY)}")
    span = _find_span(since, until, today)
    settings = read_cost_settings(run.settings)
    settings = replace(settings, daily_limit_usd=lowest(
        settings.daily_limit_usd, read_daily_cents(run.settings) / 100))
    found = _look_up(run, by, span, calls)
    if run.jsonl:
        run.out.lines(_rows(found, by, calls))
    elif run.json:
        run.out.document(_document(found, by, span, calls, settings))
    elif found.totals or found.calls:
        _print(run.out, found, by)
    if run.as_json:
        return
    if found.totals or found.calls:
        _remarks(run.out, found, settings)
    else:
        run.out.note("no call of a model is recorded for these days")


def _print(out: Output, found: Found, by: str) -> None:
    """Single calls, or a row for each of what there are totals of."""
    if not found.totals:
        _print_table(out, _CALL_HEAD, [_call_cells(c) for c in found.calls])
        return
    _print_table(out, (by, *_HEAD), [
        *([join_lines(key) or "-", *_cells(total)]
          for key, total in found.totals.items()),
        ["total", *_cells(_sum(found.totals))]],
        [total.cost_usd for total in found.totals.values()])


def _look_up(run: Invocation, by: str, span: Span, calls: int | None) -> Found:
    days = (span.since, span.until)
    try:
        opening = open_reader(ledger_path(run.places))
    except NotFoundError:
        return Found()
    with opening as reader:
        single = () if calls is None else tuple(reader.calls(*days, calls))
        totals: Mapping[str, Total] = {}
        if calls is None:
            totals = reader.turns(*days) if by == "turn" \
                else reader.kinds(*days) if by == "kind" \
                else reader.totals(by, *days)
        return Found(totals, single, reader.spent(),
                     tuple(reader.unpriced(*days)),
                     reader.unfinished(*days))


def _find_span(since: str | None, until: str | None, today: bool) -> Span:
    now = local_day(time.time())
    if today and (since or until):
        raise UsageError("--today is a span of its own",
                         hint="leave out --since and --until")
    last = now if until is None else _parse_day("--until", until)
    month = date.fromisoformat(last) - timedelta(days=_DAYS - 1)
    first = now if today else month.isoformat() if since is None \
        else _parse_day("--since", since)
    if first > last:
        raise UsageError(f"--since {first} is after --until {last}")
    return Span(first, last)


def _parse_day(option: str, text: str) -> str:
    """A date, or the day so many days ago. Raises UsageError."""
    text = text.strip()
    try:
        if re.fullmatch(r"\d{1,6}d", text):
            return (date.fromisoformat(local_day(time.time()))
                    - timedelta(days=int(text[:-1]))).isoformat()
        return date.fromisoformat(text).isoformat()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option}: {text!r} is no date",
                         hint="write 2026-11-20, or 7d") from error


def _sum(totals: Mapping[str, Total]) -> Total:
    rows = list(totals.values())
    return Total(**{name: sum(getattr(row, name) for row in rows)
                    for name in Total.__match_args__})


def _cells(total: Total) -> list[str]:
    return [f"{total.calls:,}", f"{total.failed:,}",
            f"{total.input_tokens:,}", f"{total.output_tokens:,}",
            f"{total.cached_tokens:,}", _money(total)]


def _money(total: Total) -> str:
    if not total.unpriced:
        return dollars(total.cost_usd)
    return f"{dollars(total.cost_usd)}+?" if total.cost_usd else "?"


def _call_cells(call: Call) -> list[str]:
    end = call.end
    at = datetime.fromisoformat(call.at).astimezone()
    return [at.strftime("%Y-%m-%d %H:%M:%S"), (call.turn_id or "-")[:8],
            call.origin, join_lines(call.provider),
            join_lines(call.model) + (f" ({call.kind})" if call.kind != "chat"
                                    else ""), _number(end.input_tokens),
            _number(end.output_tokens),
            "?" if end.cost_usd is None
            else ("~" if end.estimated else "") + dollars(end.cost_usd),
            _number(end.first_token_ms, " ms"),
            _number(end.duration_ms, " ms"), end.outcome]


def _number(value: int | None, unit: str = "") -> str:
    return "-" if value is None else f"{value:,}{unit}"


def _print_table(out: Output, head: tuple[str, ...], rows: list[list[str]],
                 costs: Sequence[float] = ()) -> None:
    """Columns for a person, with a bar of each of the costs where there is
    room; in a pipe tabs and no head."""
    if not out.on_terminal:
        out.result("\n".join(map("\t".join, rows)))
        return
    right = [n for n, name in enumerate(head) if name in _RIGHT]
    lines = lay_out([head, *rows], out.columns, right=right, head=True)
    room = min(out.columns - max(map(count_cells, lines)) - 2, _BAR_CELLS)
    most = max(costs, default=0)
    if len(lines) > len(rows) + 1 or room < _LEAST_BAR or not most:
        out.result("\n".join(lines))
        return
    bars = ["", *(draw_bar(cost / most, room) for cost in costs)]
    widest = max(map(count_cells, lines))
    for number, line in enumerate(lines):
        out.piece(fit(line, widest) + "  " if number < len(bars)
                  and bars[number] else line)
        if number < len(bars):
            out.styled(out.paint(bars[number], "bar"))
        out.styled("\n")


def _remarks(out: Output, found: Found, settings: CostSettings) -> None:
    if settings.enabled:
        out.note("spent today " + _format_spent(found.spent.day_usd,
                                      settings.daily_limit_usd)
                 + ", this month " + _format_spent(found.spent.month_usd,
                                         settings.monthly_limit_usd))
    left = found.unfinished
    if left.calls:
        out.note(f"{plural(left.calls, 'call')} timed out, broke off or "
                 f"{'were' if left.calls != 1 else 'was'} cancelled; "
                 f"their {_money(left)} is an estimate")
    if not found.unpriced:
        return
    known = _list_priced(found.unpriced, settings)
    if known:
        out.note("calls of before their price was known stay \"?\": "
                 + ", ".join(map(join_lines, known)))
    if bare := [name for name in found.unpriced if name not in known]:
        out.note(f"no price is known of {', '.join(map(join_lines, bare))}; "
                 + price_hint(join_lines(bare[0])))


def _list_priced(models: Sequence[str], settings: CostSettings) -> list[str]:
    """Those of the models that have a price by now."""
    from claw.providers.cost.prices import Prices, find_rate
    prices = Prices(settings.prices)
    return [name for name in models if prices.find("", name) is not None
            or any(find_rate(prices, kind, "", name) is not None
                   for kind in PRICE_KEYS if kind != "chat")]


def _format_spent(spent: float, limit: float) -> str:
    return f"{dollars(spent)} of {dollars(limit)}" if limit \
        else dollars(spent)


def _document(found: Found, by: str, span: Span, calls: int | None,
              settings: CostSettings) -> dict[str, Any]:
    totals = {str(i): _sum_call(c) for i, c in enumerate(found.calls)} \
        if calls is not None else found.totals
    every = _total_json(_sum(totals))
    return {
        "total_usd": every.pop("cost_usd"), **every,
        "since": span.since, "until": span.until,
        "by": "call" if calls is not None else by,
        "unfinished": _total_json(found.unfinished),
        "rows": _rows(found, by, calls), "unpriced": list(found.unpriced),
        "limits": {
            "enabled": settings.enabled,
            "daily_usd": settings.daily_limit_usd or None,
            "spent_today_usd": found.spent.day_usd,
            "monthly_usd": settings.monthly_limit_usd or None,
            "spent_month_usd": found.spent.month_usd,
            "per_call_usd": settings.per_call_limit_usd or None}}


def _rows(found: Found, by: str, calls: int | None) -> list[dict[str, Any]]:
    if calls is not None:
        return [_call_json(call) for call in found.calls]
    name = "turn_id" if by == "turn" else by
    return [{name: key or None, **_total_json(total)}
            for key, total in found.totals.items()]


def _total_json(total: Total) -> dict[str, Any]:
    return {
        "calls": total.calls, "failed": total.failed,
        "unpriced_calls": total.unpriced,
        "estimated_calls": total.estimated,
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "cached_input_tokens": total.cached_tokens,
        "cache_write_tokens": total.cache_write_tokens,
        "cost_usd": None if total.unpriced and not total.cost_usd
        else round(total.cost_usd, 9)}


def _sum_call(call: Call) -> Total:
    end = call.end
    return Total(
        1, end.outcome not in ("ok", "open"), end.cost_usd is None,
        end.estimated, end.input_tokens or 0, end.output_tokens or 0,
        end.cached_tokens or 0, end.cache_write_tokens or 0,
        end.cost_usd or 0.0)


def _call_json(call: Call) -> dict[str, Any]:
    end = call.end
    return {
        "id": call.id, "at": call.at, "kind": call.kind,
        "turn_id": call.turn_id,
        "origin": call.origin, "channel": call.channel,
        "session": call.session, "provider": call.provider,
        "model": call.model, "answered": end.answered,
        "streamed": call.streamed, "attempt": call.attempt,
        "outcome": end.outcome, "input_tokens": end.input_tokens,
        "output_tokens": end.output_tokens,
        "cached_input_tokens": end.cached_tokens,
        "cache_write_tokens": end.cache_write_tokens,
        "cost_usd": None if end.cost_usd is None
        else round(end.cost_usd, 9),
        "estimated": end.estimated, "first_token_ms": end.first_token_ms,
        "duration_ms": end.duration_ms}
