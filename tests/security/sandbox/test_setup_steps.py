"""The doctor's steps from the fallback sandbox to a whole one."""

import pytest

from claw.security.sandbox.setup_steps import System, list_steps, read_system


@pytest.mark.parametrize(("system", "steps"), [
    (System(apparmor_restricts=True),
     [("AppArmor", "apt install bubblewrap")]),
    (System(apparmor_restricts=True),
     [("AppArmor", "apparmor_parser -r")]),
    (System(switched_off=("kernel.unprivileged_userns_clone=1",)),
     [("switched off", "echo kernel.unprivileged_userns_clone=1 | sudo")]),
    (System(switched_off=("user.max_user_namespaces=10000",),
            container="docker"),
     [("docker container", "--security-opt seccomp=unconfined"),
      ("switched off", "user.max_user_namespaces=10000")]),
    (System(container="podman"), [("podman container", "unmask=ALL")]),
    (System(version="Linux version 4.4.0-19041-Microsoft"),
     [("WSL 1", "wsl --set-version")]),
    (System(version="Linux version 6.6.87-microsoft-standard-WSL2"),
     [("no namespaces", "bubblewrap")]),
    (System(), [("no namespaces", "dnf install bubblewrap")])])
def test_each_system_has_its_steps(system, steps):
    found = list(list_steps(system))

    assert len(found) == len(steps)
    for (cause, step), (part, command) in zip(found, steps, strict=True):
        assert part in cause
        assert command in step


def test_this_machine_can_be_read():
    assert read_system().version.startswith("Linux version")
