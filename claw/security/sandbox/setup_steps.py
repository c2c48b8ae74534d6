"""Why a machine has the fallback sandbox only, and what changes that.

Source: user_namespaces(7); Ubuntu's release notes 23.10, 24.04 and 25.04 on
AppArmor and user namespaces; `docker run` and `podman run` on seccomp and
masked paths; read 2026-11.
"""

import os
from collections.abc import Iterator

from claw.core.value import Value

_PROFILE = "bwrap-userns-restrict"
_APPARMOR = (
    "sudo apt install bubblewrap; where that alone does not do (Ubuntu "
    "24.04): sudo apt install apparmor-profiles && sudo cp "
    f"/usr/share/apparmor/extra-profiles/{_PROFILE} /etc/apparmor.d/ && "
    f"sudo apparmor_parser -r /etc/apparmor.d/{_PROFILE}")
_CONTAINERS = {
    "docker": "start the container with: --security-opt seccomp=unconfined "
              "--security-opt apparmor=unconfined --security-opt "
              "systempaths=unconfined (its other walls stay)",
    "podman": "start the container with: --security-opt seccomp=unconfined "
              "--security-opt unmask=ALL --security-opt label=disable"}


class System(Value):
    """What the files of a Linux machine say about user namespaces.

    `container` is docker, podman or "". `version` is /proc/version.
    """

    apparmor_restricts: bool = False
    switched_off: tuple[str, ...] = ()
    container: str = ""
    version: str = ""


def read_system() -> System:
    """This machine."""
    off = [f"{name}={value}" for name, value in (
        ("kernel.unprivileged_userns_clone", 1),
        ("user.max_user_namespaces", 10_000))
        if _read("/proc/sys/" + name.replace(".", "/")) == "0"]
    return System(
        _read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        == "1", tuple(off),
        "docker" if os.path.exists("/.dockerenv") else
        "podman" if os.path.exists("/run/.containerenv") else "",
        _read("/proc/version"))


def list_steps(system: System) -> Iterator[tuple[str, str]]:
    """Each cause that was found, with what removes it; at the last what
    can always be tried."""
    if system.container:
        yield (f"this is a {system.container} container, which forbids "
               "namespaces", _CONTAINERS[system.container])
    if "Microsoft" in system.version:  # WSL 2 writes it small
        yield ("this is WSL 1, which has no namespaces",
               "in Windows: wsl --set-version DISTRIBUTION 2")
        return
    if system.apparmor_restricts:
        yield ("AppArmor keeps user namespaces from programs without a "
               "profile", _APPARMOR)
    for setting in system.switched_off:
        yield ("this kernel's user namespaces are switched off",
               f"echo {setting} | sudo tee /etc/sysctl.d/50-claw.conf && "
               "sudo sysctl --system")
    if not (system.container or system.apparmor_restricts
            or system.switched_off):
        yield ("the kernel gives claw no namespaces",
               "install bubblewrap: sudo apt install bubblewrap, sudo dnf "
               "install bubblewrap, sudo pacman -S bubblewrap or apk add "
               "bubblewrap")


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return ""
