"""GET /metrics, in the text format that Prometheus reads.

For a program on this machine, or with a key. Times are Unix seconds, so
that an age is time() minus the value.
Source: prometheus.io/docs/instrumenting/exposition_formats (text 0.0.4).
"""

import os
import resource
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from starlette.responses import Response

from claw.gateway.endpoint import Call, Endpoint
from claw.gateway.health import Snapshot, read_time

TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels: TypeAlias = Mapping[str, object]
Sample: TypeAlias = tuple[Labels, float]
# name, "gauge" or "counter", its help, its samples
Metric: TypeAlias = tuple[str, str, str, Iterable[Sample]]
Counts: TypeAlias = Mapping[tuple[str, str, int], int]
Gather: TypeAlias = Callable[[], Iterable[Metric]]

_TIMES = {
    "last_receive": "When a part last completed a receive.",
    "last_send": "When a part last sent.",
    "last_turn": "When a turn last ended.",
}


def build_metrics(snapshot: Snapshot, counts: Counts,
                  connections: Callable[[], int],
                  more: Gather = lambda: ()) -> Endpoint:
    """The row; `more` are further metrics of who composes it."""
    async def answer(call: Call) -> Response:
        metrics = [*_describe_parts(snapshot()), *_describe_calls(counts),
                   ("claw_http_connections", "gauge",
                    "Open connections.", [({}, connections())]),
                   *_describe_process(), *more()]
        return Response(render(metrics), media_type=TYPE)
    return Endpoint("/metrics", answer, access="local")


def render(metrics: Iterable[Metric]) -> str:
    """The exposition; a metric without samples is left out."""
    lines: list[str] = []
    for name, kind, text, samples in metrics:
        rows = [f"{name}{_render_labels(labels)} {_render_number(value)}"
                for labels, value in samples]
        if rows:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}",
                      *rows]
    return "\n".join([*lines, ""])


def _render_labels(labels: Labels) -> str:
    pairs = ",".join(f'{name}="{_escape(str(value))}"'
                     for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _render_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))


def _describe_parts(snapshot: Mapping[str, Any]) -> Iterator[Metric]:
    parts = snapshot["components"]
    yield ("claw_uptime_seconds", "gauge", "Seconds since the start.",
           [({}, snapshot["uptime_seconds"])])
    yield ("claw_part_up", "gauge", "Whether a part is well.",
           [({"part": name}, part["status"] == "ok")
            for name, part in parts.items()])
    yield ("claw_part_restarts_total", "counter", "Starts after a failure.",
           [({"part": name}, part["restart_count"])
            for name, part in parts.items()])
    for key, text in _TIMES.items():
        yield (f"claw_part_{key}_timestamp_seconds", "gauge", text,
               [({"part": name}, read_time(part[key]))
                for name, part in parts.items() if part.get(key)])


def _describe_calls(counts: Counts) -> Iterator[Metric]:
    yield ("claw_http_requests_total", "counter",
           "Calls of the gateway by the path of its table.",
           [({"method": method, "path": path, "status": status}, number)
            for (method, path, status), number in sorted(counts.items())])


def _describe_process() -> Iterator[Metric]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield ("process_cpu_seconds_total", "counter", "CPU time.",
           [({}, used.ru_utime + used.ru_stime)])
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except OSError:  # another system than Linux
        return
    yield ("process_resident_memory_bytes", "gauge", "Resident memory.",
           [({}, pages * os.sysconf("SC_PAGE_SIZE"))])
