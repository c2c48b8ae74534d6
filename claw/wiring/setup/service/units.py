"""The files that make `claw listen` a service. Pure.

A unit of the user's own manager: no root, no other account. What hardens it
leaves claw's own sandbox its means (Landlock, seccomp, user namespaces) and
the tools the network and the workspace: claw security audit finds the same
with it as without (systemd 257, kernel 6.18). Exits that a restart can't
mend are not restarted: 2 wrong usage, 3 configuration, 4 a key that was
refused, 6 a workspace that nobody trusts, 7 a missing part.

Source: systemd.service(5), systemd.exec(5), launchd.plist(5).
"""

import plistlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from claw.core.errors import ExitCode, UsageError

LABEL = "claw.listen"
UNIT = "claw.service"
# A drain lets answers finish for so long, then there is a margin.
STOP_S = 45
WATCHDOG_S = 60
_NOT_AGAIN = (ExitCode.USAGE, ExitCode.CONFIG, ExitCode.AUTH,
              ExitCode.DENIED, ExitCode.MISSING_PART)


def render_unit(command: Sequence[str], environment: Mapping[str, str],
                folder: Path) -> str:
    """claw.service. `environment` is what the shell of today says of
    claw's folders, `folder` where the process starts. Raises UsageError
    for what no unit can hold."""
    lines = [f"Environment={_quote(f'{name}={value}')}"
             for name, value in sorted(environment.items())]
    return f"""\
# Written by claw service install; to change it: systemctl --user edit claw
[Unit]
Description=claw, a personal agent
Documentation=man:claw-listen(1)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
NotifyAccess=main
ExecStart={" ".join(_quote(word.replace("$", "$$")) for word in command)}
WorkingDirectory=-{_escape(str(folder))}
{chr(10).join(lines)}
Restart=on-failure
RestartSec=2
RestartPreventExitStatus={" ".join(str(int(code)) for code in _NOT_AGAIN)}
WatchdogSec={WATCHDOG_S}
TimeoutStartSec=90
TimeoutStopSec={STOP_S}
KillMode=mixed
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallFilter=~@clock @cpu-emulation @debug @module
SystemCallFilter=~@obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
OOMPolicy=continue

[Install]
WantedBy=default.target
"""


def _escape(text: str) -> str:
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in text) \
            or text.endswith("\\"):  # its line would go on in the next
        raise UsageError(f"a unit can't hold the name {text!r}",
                         hint="use a path without control characters, and "
                              "without a backslash at its end")
    return text.replace("%", "%%")


def _quote(text: str) -> str:
    """A word of a command, or a variable."""
    text = _escape(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def render_plist(command: Sequence[str], environment: Mapping[str, str],
                 folder: Path, log: Path) -> str:
    """The same for launchd."""
    return plistlib.dumps({
        "Label": LABEL, "ProgramArguments": list(command),
        "EnvironmentVariables": dict(sorted(environment.items())),
        "WorkingDirectory": str(folder), "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": 10,
        "ExitTimeOut": STOP_S, "Umask": 0o077,
        "StandardOutPath": str(log), "StandardErrorPath": str(log),
    }).decode()
