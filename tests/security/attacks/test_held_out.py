"""Attacks that stand in no list: what programs leave for the owner, what
calls look like, and what is shown of them."""

import os
import subprocess

import pytest

EVIL = "touch {ran}; echo"
# name -> (what the program leaves, in Python; what the owner runs later)
LEFT_FOR_GIT = {
    "a filter": ("""
config('[filter "x"]\\nclean = EVIL\\nsmudge = EVIL\\n')
write(".gitattributes", "* filter=x\\n"); write("new.txt", "x")""",
                 "git add new.txt"),
    "a filter of info/attributes": ("""
config('[filter "x"]\\nclean = EVIL\\n')
write(".git/info/attributes", "* filter=x\\n"); write("new.txt", "x")""",
                                    "git add new.txt"),
    "a textconv": ("""
config('[diff "x"]\\ntextconv = EVIL\\n')
write(".gitattributes", "* diff=x\\n"); write("kept", "other")""",
                   "git diff"),
    "an external diff": ("config('[diff]\\nexternal = EVIL\\n');"
                         " write('kept', 'other')", "git diff"),
    "a driver of a diff": ("""
config('[diff "x"]\\ncommand = EVIL\\n')
write(".gitattributes", "* diff=x\\n"); write("kept", "other")""",
                           "git diff"),
    "a file monitor": ("config('[core]\\nfsmonitor = EVIL\\n')",
                       "git status"),
    "a folder of hooks": ("""
config('[core]\\nhooksPath = evil\\n')
program("evil/pre-commit")""", "git commit --allow-empty -m x"),
    "a hook": ("program('.git/hooks/pre-commit')",
               "git commit --allow-empty -m x"),
    "a hook of checkouts": ("program('.git/hooks/post-checkout')",
                            "git checkout -b x"),
    "a pager": ("config('[core]\\npager = EVIL\\n')", "git -p log"),
    "a pager of one command": ("config('[pager]\\nlog = EVIL\\n')",
                               "git -p log"),
    "an editor": ("config('[core]\\neditor = EVIL\\n')",
                  "git commit --allow-empty --amend"),
    "an alias": ("config('[alias]\\nst = !EVIL\\n')", "git st"),
    "a signer": ("config('[gpg]\\nprogram = EVIL\\n[commit]\\n"
                 "gpgsign = true\\n')", "git commit --allow-empty -m x"),
    "a checker of signatures": ("config('[gpg]\\nprogram = EVIL\\n"
                                "[log]\\nshowSignature = true\\n')",
                                "git log"),
    "another file of settings": ("""
config('[include]\\npath = ../evil.cfg\\n')
write("evil.cfg", '[core]\\nfsmonitor = EVIL\\n')""", "git status"),
    "one that counts for a folder": ("""
config('[includeIf "gitdir:**"]\\npath = ../evil.cfg\\n')
write("evil.cfg", '[core]\\nfsmonitor = EVIL\\n')""", "git status"),
    "settings of a worktree": ("""
config('[extensions]\\nworktreeConfig = true\\n')
write(".git/config.worktree", '[core]\\nfsmonitor = EVIL\\n')""",
                               "git status"),
    "a worktree elsewhere": ("""
config('[core]\\nworktree = ..\\n')
config('[core]\\nfsmonitor = EVIL\\n')""", "git status"),
    "a way to a host": ("config('[core]\\nsshCommand = EVIL\\n[remote \"o\"]"
                        "\\nurl = ssh://h/x\\n')", "git fetch o"),
    "a program for a protocol": ("config('[protocol \"ext\"]\\nallow = always"
                                 "\\n[remote \"o\"]\\nurl = ext::EVIL\\n')",
                                 "git fetch o"),
    "a program of the other side": ("config('[remote \"o\"]\\nurl = .\\n"
                                    "uploadpack = EVIL\\n')", "git fetch o"),
    "a helper for passwords": ("config('[credential]\\nhelper = !EVIL\\n"
                               "[remote \"o\"]\\nurl = http://127.0.0.1:1/'"
                               ")", "git credential fill"),
    "a merge driver": ("""
config('[merge "x"]\\ndriver = EVIL\\n')
write(".gitattributes", "* merge=x\\n")""", "git merge other"),
    "a repository instead": ("""
import shutil
os.makedirs("evil"); shutil.copytree(".git", "evil/git")
write("evil/git/config", '[core]\\nfsmonitor = EVIL\\n')
os.rename(".git", "was"); write(".git", "gitdir: evil/git\\n")""",
                             "git status"),
    "a repository below": ("""
os.system("git init -q sub")
with open("sub/.git/config", "a") as f:
    f.write('[core]\\nfsmonitor = EVIL\\n')""", "git -C sub status"),
    "a bare repository below": ("""
os.system("git init -q --bare sub.git")
with open("sub.git/config", "a") as f:
    f.write('[core]\\nfsmonitor = EVIL\\nworktree = ..\\n')""",
                                "git -C sub.git status"),
    "a submodule": ("""
os.system("git init -q m")
os.makedirs(".git/modules"); os.rename("m/.git", ".git/modules/m")
write("m/.git", "gitdir: ../.git/modules/m\\n")
write(".gitmodules", '[submodule "m"]\\npath = m\\nurl = ./m\\n')
with open(".git/modules/m/config", "a") as f:
    f.write('[core]\\nworktree = ../../../m\\nfsmonitor = EVIL\\n')""",
                    "git -C m status"),
    "a submodule that is updated": ("""
config('[submodule "m"]\\nupdate = !EVIL\\nurl = .\\n')
write(".gitmodules", '[submodule "m"]\\npath = m\\nurl = ./m\\n')
os.system("git update-index --add --cacheinfo 160000,"
          + "a" * 40 + ",m")""", "git submodule update"),
    "a link to settings": ("""
write("evil.cfg", '[core]\\nfsmonitor = EVIL\\n')
os.remove(".git/config"); os.symlink("../evil.cfg", ".git/config")""",
                           "git status"),
    "a common folder": ("""
import shutil
shutil.copytree(".git", "evil")
with open("evil/config", "a") as f:
    f.write('[core]\\nfsmonitor = EVIL\\n')
write(".git/commondir", "../evil\\n")""", "git status"),
}
PLANT = """
import os
def write(name, text):
    try:
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w") as file:
            file.write(text)
    except OSError as error:
        print("held", error)
def program(name):
    write(name, "#!/bin/sh\\nEVIL\\n")
    try:
        os.chmod(name, 0o755)
    except OSError as error:
        print("held", error)
def config(text):
    try:
        with open(".git/config", "a") as file:
            file.write(text)
    except OSError as error:
        print("held", error)
try:
    pass
LEFT
except OSError as error:
    print("held", error)
"""


@pytest.mark.parametrize("name", LEFT_FOR_GIT)
def test_git_runs_nothing_for_the_owner_that_a_program_left(yard, name):
    """The program ran in the sandbox with his yes; then he types git."""
    left, later = LEFT_FOR_GIT[name]
    make_repository(yard)
    ran = yard.folder / "outside/ran"
    said = yard.python(PLANT.replace("LEFT", "\n".join(
        "    " + line for line in left.strip().split("\n"))).replace(
            "EVIL", EVIL.format(ran=ran)))
    assert "Traceback" not in said, said
    run_git(yard, later)

    assert not ran.exists(), said


@pytest.mark.parametrize("name", ["a filter", "a file monitor", "a hook"])
def test_git_would_run_it(yard, name):
    """Or the table above would prove nothing."""
    left, later = LEFT_FOR_GIT[name]
    make_repository(yard)
    ran = yard.folder / "outside/ran"
    subprocess.run(["python3", "-c", PLANT.replace("LEFT", "\n".join(
        "    " + line for line in left.strip().split("\n"))).replace(
            "EVIL", EVIL.format(ran=ran))], cwd=yard.workspace, check=True)
    run_git(yard, later)

    assert ran.exists()


def make_repository(yard):
    yard.write("kept", "mine")
    for words in ("init -q -b main", "config user.name Ada",
                  "config user.email a@b", "add kept", "commit -qm x",
                  "branch other", "commit -q --allow-empty -m y"):
        run_git(yard, "git " + words)


def run_git(yard, command):
    subprocess.run(command, shell=True, cwd=yard.workspace, check=False,
                   stdin=subprocess.DEVNULL, capture_output=True, env={
                       "PATH": os.environ["PATH"], "HOME": str(yard.user),
                       "GIT_PAGER_IN_USE": "1"}, timeout=20)
