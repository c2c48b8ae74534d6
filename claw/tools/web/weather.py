"""weather: now and the next days, from wttr.in.

Source: github.com/chubin/wttr.in, "JSON output" (format=j1), read 2026-11.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from claw.core.errors import UnavailableError, UsageError
from claw.core.tool import (
    Arguments,
    Schema,
    ToolResult,
    closed_object,
    integer,
    string,
)
from claw.net.errors import Peer
from claw.net.http import HttpClient
from claw.tools.web.foreign import WebTool, add_label, to_line

SERVER = "https://wttr.in"
_TIMEOUT_S = 15.0
_MOST_BYTES = 1024 * 1024
_UNITS = {"metric": ("C", "°C", "Kmph", "km/h", "precipMM", "mm"),
          "imperial": ("F", "°F", "Miles", "mph", "precipInches", "in")}


class Weather(WebTool):
    """The weather at a place."""

    name = "weather"
    reads = True
    repeatable = True
    description = "Current weather and forecast of a place, from wttr.in."

    def parameters_schema(self) -> Schema:
        return closed_object(
            location=string("City, airport code or latitude,longitude",
                            minLength=1),
            units=string("Units", enum=list(_UNITS), default="metric"),
            days=integer("Days of forecast", default=1, minimum=0,
                         maximum=3))

    async def run(self, args: Arguments) -> ToolResult:
        place = " ".join(args["location"].split())
        if not place or len(place) > 200:
            raise UsageError("'location' must be the name of a place")
        self._policy.enforce("read")
        add_label()
        client = HttpClient(Peer("wttr.in"), timeout_s=_TIMEOUT_S,
                            max_bytes=_MOST_BYTES)
        try:
            answer = await client.request(
                "GET", f"{SERVER}/{quote(place, safe=',~@')}?format=j1",
                headers={"accept": "application/json"}, check=False)
        finally:
            await client.aclose()
        if answer.status == 404:
            raise UsageError(f"wttr.in knows no place named {place!r}; try "
                             "a larger one near it")
        if answer.status >= 300:
            raise UnavailableError(
                f"wttr.in answered HTTP {answer.status}; try again later")
        try:
            return ToolResult(output=show_weather(
                answer.json(), args["units"], args["days"]))
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise UnavailableError("wttr.in sent no weather; try again later"
                                   ) from error


def show_weather(report: Mapping[str, Any], units: str, days: int) -> str:
    """A report (format=j1) in lines. Raises LookupError and TypeError for
    what is none."""
    letter, degree, speed, per_hour, rain, length = _UNITS[units]
    now = report["current_condition"][0]
    lines = [f"Weather in {_name_place(report)}:",
             f"Now: {_describe(now)}, {to_line(now[f'temp_{letter}'])}"
             f"{degree} (feels like {to_line(now[f'FeelsLike{letter}'])}"
             f"{degree}), humidity {to_line(now['humidity'])}%, wind "
             f"{to_line(now[f'windspeed{speed}'])} {per_hour} "
             f"{to_line(now['winddir16Point'])}, rain "
             f"{to_line(now.get(rain, '0'))} {length}"]
    for day in report.get("weather", [])[:days]:
        hours = day["hourly"]
        chance = max((int(hour.get("chanceofrain", 0)) for hour in hours),
                     default=0)
        noon = _describe(hours[len(hours) // 2]) if hours else "?"
        lines.append(
            f"{to_line(day['date'])}: {noon}, "
            f"{to_line(day[f'mintemp{letter}'])} to "
            f"{to_line(day[f'maxtemp{letter}'])}{degree}, chance of rain "
            f"{chance}%")
    return "\n".join(lines)


def _describe(condition: Mapping[str, Any]) -> str:
    return to_line(condition["weatherDesc"][0]["value"], 80)


def _name_place(report: Mapping[str, Any]) -> str:
    area = report["nearest_area"][0]
    names = (to_line(area[key][0]["value"], 80)
             for key in ("areaName", "region", "country") if area.get(key))
    return ", ".join(dict.fromkeys(filter(None, names)))
