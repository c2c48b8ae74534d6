"""weather and pushover against servers that answer as theirs do."""

import asyncio
import json
from urllib.parse import parse_qs

import pytest

from claw.tools.web import pushover, weather
from claw.tools.web.pushover import Pushover
from claw.tools.web.settings import PushoverSettings
from claw.tools.web.weather import Weather


def value(text):
    return [{"value": text}]


# format=j1, shortened to what is read.
REPORT = {
    "current_condition": [{
        "temp_C": "7", "temp_F": "45", "FeelsLikeC": "4", "FeelsLikeF": "39",
        "humidity": "81", "windspeedKmph": "19", "windspeedMiles": "12",
        "winddir16Point": "SW", "precipMM": "0.3", "precipInches": "0.0",
        "weatherDesc": value("Light rain\x1b[2J")}],
    "nearest_area": [{"areaName": value("Bergen"), "region": value("Vestland"),
                      "country": value("Norway")}],
    "weather": [{
        "date": f"2026-11-{day}", "mintempC": "3", "maxtempC": "8",
        "mintempF": "37", "maxtempF": "46", "hourly": [
            {"chanceofrain": chance, "weatherDesc": value(sky)}
            for chance, sky in (("10", "Sunny"), ("90", "Rain"))]}
        for day in (23, 24, 25)]}


def ask_weather(web, monkeypatch, answer, **args):
    site = web.Site(answer)

    async def go():
        async with site.up():
            monkeypatch.setattr(weather, "SERVER",
                                f"http://127.0.0.1:{site.port}")
            return await web.execute(Weather(web.deps()), **args)
    return asyncio.run(go()), site


def test_weather_now_and_tomorrow(web, monkeypatch):
    result, site = ask_weather(web, monkeypatch,
                               web.answer(json.dumps(REPORT)),
                               location="Bergen, Norge/..", days=2)

    assert site.requests[0].startswith(
        "GET /Bergen,%20Norge%2F..?format=j1 HTTP/1.1\r\n")
    assert result.output == (
        "Weather in Bergen, Vestland, Norway:\n"
        "Now: Light rain[2J, 7°C (feels like 4°C), humidity 81%, wind 19 "
        "km/h SW, rain 0.3 mm\n"
        "2026-11-23: Rain, 3 to 8°C, chance of rain 90%\n"
        "2026-11-24: Rain, 3 to 8°C, chance of rain 90%")
    assert web.turn.labels == {"web"}


def test_weather_in_other_units(web, monkeypatch):
    result, _ = ask_weather(web, monkeypatch, web.answer(json.dumps(REPORT)),
                            location="Bergen", units="imperial", days=0)
    assert "45°F" in result.output
    assert "12 mph" in result.output
    assert "2026" not in result.output


@pytest.mark.parametrize(("body", "status", "word"), [
    ("Unknown location", "404 Not Found", "knows no place named 'Bergen'"),
    ("Sorry, we are running out of queries", "500 Oops", "HTTP 500"),
    ("Sorry", "200 OK", "sent no weather"),
    ("{}", "200 OK", "sent no weather"),
    ("[]", "200 OK", "sent no weather"),
    ('{"current_condition": [{}]}', "200 OK", "sent no weather"),
    ("[" * 100_000, "200 OK", "sent no weather"),
])
def test_no_weather_says_why(web, monkeypatch, body, status, word):
    result, _ = ask_weather(web, monkeypatch, web.answer(
        body, status=status), location="Bergen")
    assert word in result.error


def push(web, monkeypatch, answer, settings=None, **args):
    site = web.Site(answer)

    async def go():
        async with site.up():
            monkeypatch.setattr(pushover, "MESSAGES",
                                f"http://127.0.0.1:{site.port}/1/m.json")
            return await web.execute(Pushover(
                web.deps(), settings or PushoverSettings(
                    token="T0KEN-S3CRET", user_key="USER-S3CRET")), **args)
    return asyncio.run(go()), site


def sent(site):
    return {name: values[0] for name, values in parse_qs(
        site.requests[0].partition("\r\n\r\n")[2]).items()}


def test_a_notification_is_sent(web, monkeypatch):
    result, site = push(web, monkeypatch, web.answer(
        '{"status":1,"request":"x"}'), message="Tee & mehr: fünf Uhr",
        title="Hm", priority=-1, sound="bike")

    assert result.output == "Pushover has taken the notification"
    assert sent(site) == {
        "token": "T0KEN-S3CRET", "user": "USER-S3CRET", "priority": "-1",
        "message": "Tee & mehr: fünf Uhr", "title": "Hm", "sound": "bike"}


def test_an_emergency_says_how_often_it_is_repeated(web, monkeypatch):
    _, site = push(web, monkeypatch, web.answer('{"status":1}'),
                   message="fire", priority=2)
    assert (sent(site)["retry"], sent(site)["expire"]) == ("60", "3600")


@pytest.mark.parametrize(("body", "status", "word"), [
    ('{"status":0,"errors":["user key is invalid"]}', "400 Bad Request",
     "user key is invalid"),
    ('{"status":0}', "200 OK", "HTTP 200"),
    ('{"status":0,"errors":[{},5]}', "400 Bad Request", "HTTP 400"),
    ("", "500 Oops", "HTTP 500"), ("[]", "200 OK", "refused"),
])
def test_a_refused_notification_is_a_failure(web, monkeypatch, body, status,
                                             word):
    result, _ = push(web, monkeypatch, web.answer(body, status=status),
                     message="x")
    assert not result.success
    assert word in result.error
    assert "S3CRET" not in result.error


def test_what_is_too_long_is_not_cut_in_silence(web, monkeypatch):
    result, site = push(web, monkeypatch, b"", message="x" * 1025)
    assert "1024" in result.error
    assert site.requests == []


def test_a_dot_env_in_the_workspace_is_no_setting(web, monkeypatch):
    """A command of the model's may have written it."""
    (web.folder / ".env").write_text("PUSHOVER_TOKEN=a\nPUSHOVER_USER_KEY=b")
    result, site = push(web, monkeypatch, b"", PushoverSettings(),
                        message="x")
    assert "claw config set pushover.token" in result.error
    assert site.requests == []
