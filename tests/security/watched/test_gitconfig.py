"""git's settings are read as git reads them."""

import os
import random
import subprocess

import pytest

from claw.security.watched.gitconfig import Entry, decode, parse, remove


def by_git(path):
    """What the installed git says: (name, value) pairs, None for an
    error."""
    done = subprocess.run(
        ["git", "config", "--no-includes", "-z", "-l", "-f", str(path)],
        capture_output=True, check=False, cwd="/", env={
            "PATH": os.environ["PATH"], "HOME": "/nowhere",
            "GIT_CONFIG_NOSYSTEM": "1"})
    if done.returncode:
        return None
    pairs = [row.partition("\n") for row in
             decode(done.stdout).split("\0")[:-1]]
    return [(name, value if found else None) for name, found, value in pairs]


def by_us(text):
    try:
        return [(entry.name, entry.value) for entry in parse(text)]
    except ValueError:
        return None


@pytest.mark.each("text", [
    "", "[a]", "[a]b", "[a]\nb=c", "[A.B]\nC = d", '[a "B"]\nc=d',
    '[a "b\\"]\\\\"]\nc=d', "[a]\nb = c \\\n  d", '[a]\nb = "c ; d" # e',
    "[a]\nb = c ; d\ne = f", "[a] b = c", "[a]\r\nb = c\r\n", "b = c",
    "[a]\nb = \"c\n", "[a]\nb = \\x", "[a]\nb c", "[a\n]\nb=c", "[a]]",
    '[a"b"]\nc=d', "[a]\n1b=c", "[a]\nb = c\\", "[a]\nb ", "[a]\n b\t=\tc ",
    "\xef\xbb\xbf[a]\nb=c", "[a]\nb = \\n\\t\\\"", '[a]\nb = a"b"c', "[]\na=b",
    "[ \"b\"]\nc=d", "[.]\nc=d", "[-]c",
    "[a]\nb = # c \\\nd = e", "[a]; x\nb=c#d\n#[x]\ne=f", "[a]\nb=\xe9",
    '[a "" ]\nb=c', '[a ""]\nb=c', '[a "b" c]\nd=e', "[a]b=c[d]e=f"])
def test_a_file_says_what_git_reads_in_it(tmp_path, text):
    (tmp_path / "c").write_bytes(text.encode("latin-1"))

    assert by_us(text) == by_git(tmp_path / "c")


def test_whatever_is_written_is_read_as_git_does(tmp_path):
    """What git takes and we would not see could hide a program."""
    dice = random.Random(12)
    pieces = ["[a]", "\n", "b", "=", " ", '"', "\\", "[x \"y\"]", "#", ";",
              "\r\n", "\t", "key = v", "[core]\n", "fsmonitor", "\\n", "]",
              ".", "-", "1", "\r"]
    for _ in range(100):
        text = "".join(dice.choices(pieces, k=dice.randint(1, 14)))
        (tmp_path / "c").write_bytes(text.encode("latin-1"))
        theirs, ours = by_git(tmp_path / "c"), by_us(text)
        assert _plain(ours) == _plain(theirs), repr(text)


def _plain(pairs):
    """Between words git wrote a blank for a tab until 2.45."""
    return pairs and [
        (name, value and value.replace("\t", " ").replace("\r", " "))
        for name, value in pairs]


@pytest.mark.each(("name", "value"), [
    ("core.fsmonitor", "x"), ("core.hookspath", "x"), ("alias.a", "log"),
    ("core.sshcommand", "x"), ("core.pager", "x"), ("core.editor", "x"),
    ("core.askpass", "x"), ("core.gitproxy", "x"), ("diff.a.command", "x"),
    ("core.alternaterefscommand", "x"), ("diff.a.textconv", "x"),
    ("diff.external", "x"), ("merge.a.driver", "x"), ("filter.a.clean", "x"),
    ("filter.a.smudge", "x"), ("filter.a.process", "x"),
    ("include.path", "x"), ("includeif.a.path", "x"),
    ("credential.helper", "x"), ("credential.u.helper", "x"),
    ("gpg.program", "x"), ("gpg.ssh.program", "x"),
    ("gpg.ssh.defaultkeycommand", "x"), ("sequence.editor", "x"),
    ("uploadpack.packobjectshook", "x"), ("remote.o.uploadpack", "x"),
    ("remote.o.receivepack", "x"), ("remote.o.vcs", "x"),
    ("remote.o.url", "ext::sh -c x"), ("remote.o.pushurl", "ext::x"),
    ("branch.b.remote", "ext::x"), ("url.ext::sh.insteadof", "h"),
    ("protocol.ext.allow", "always"), ("protocol.allow", "always"),
    ("submodule.s.update", "!x"), ("browser.b.cmd", "x"),
    ("browser.b.path", "x"), ("man.m.cmd", "x"), ("mergetool.m.cmd", "x"),
    ("difftool.d.path", "x"), ("guitool.g.cmd", "x"), ("pager.log", "x"),
    ("interactive.difffilter", "x"), ("trailer.t.cmd", "x"),
    ("tar.zst.command", "x"), ("gc.recentobjectshook", "x"),
    ("sendemail.smtpserver", "/x"), ("init.templatedir", "x"),
    ("hook.h.command", "x"), ("imap.tunnel", "x"),
    ("lfs.customtransfer.t.path", "x")])
def test_settings_that_run_a_program(name, value):
    assert Entry(name, value, 0, 0).runs_program()


@pytest.mark.each(("name", "value"), [
    ("core.repositoryformatversion", "0"), ("core.filemode", "true"),
    ("core.bare", "false"), ("core.logallrefupdates", "true"),
    ("core.fsmonitor", "true"), ("core.fsmonitor", None),
    ("core.sparsecheckout", "true"), ("remote.o.url", "https://h/x"),
    ("remote.o.fetch", "+refs/heads/*:refs/remotes/o/*"),
    ("remote.o.promisor", "true"), ("remote.o.partialclonefilter", "b"),
    ("branch.b.remote", "o"), ("branch.b.merge", "refs/heads/b"),
    ("submodule.s.url", "https://h/s"), ("submodule.s.active", "true"),
    ("submodule.s.update", "rebase"), ("user.name", "M"),
    ("extensions.worktreeconfig", "true"), ("pager.log", "false"),
    ("diff.tool", "vimdiff"), ("merge.conflictstyle", "zdiff3"),
    ("commit.template", "x"), ("maintenance.auto", "false")])
def test_settings_that_run_none(name, value):
    assert not Entry(name, value, 0, 0).runs_program()


@pytest.mark.each(("text", "clean"), [
    ("[core]\n\tbare = true\n\tpager = x\n[user]\n\tname = M\n",
     "[core]\n\tbare = true\n\t\n[user]\n\tname = M\n"),
    ("[core] pager = x\n", "[core] \n"),
    ("[core]\npager = x \\\n y # z\nbare = 1\n", "[core]\n\nbare = 1\n"),
    ("[core]\npager = x", "[core]\n"),
    ("[a]\nb=\"\xff\"", "[a]\nb=\"\xff\"")])
def test_bad_settings_are_cut_out(text, clean):
    assert remove(text, Entry.runs_program) == clean
