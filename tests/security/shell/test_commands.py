"""The command gate: what runs, what is refused, what needs a yes."""

import pytest

from claw.security.settings import ALLOWED_COMMANDS
from claw.security.shell.commands import GateRules, judge

NOT_ALLOWED = "Command not allowed by security policy: "


def rules(level="supervised", allowed=ALLOWED_COMMANDS, *, ask_medium=True,
          block_high=True):
    return GateRules(level, tuple(allowed), ask_medium, block_high,
                     "/home/u")


def lexical(path):
    return not (path.startswith(("/", "~")) or ".." in path.split("/"))


def verdict(command, *, approved=False, **changed):
    return judge(command, rules(**changed), lexical, approved=approved)


@pytest.mark.each("command", [
    "ls", "ls -la", "git status", "git log --oneline | head -3",
    "ls && pwd", "ls; pwd", "ls\npwd", "false_ok=1 ls", "LS",
    "echo 'a;b' \"c|d\" e\\;f", "echo 'price $5' \\$x", "echo a$",
    "echo '<b>' \">\"", "echo a'>'b", "/usr/bin/git status", "git -C sub log",
    "ls 2>/dev/null", "ls 2>&1", "ls >/dev/null 2>&1 | wc -l",
    "cat < /dev/null", "find . -name '*.py'", "echo hi # rm -rf x; $(x)",
    "echo x\\\ny", "git add config.toml", "git switch main.py || ls",
    "ls *.py", "echo {a,b}", "python script.py -c x", "node app.js",
    "grep -r 'a b' src/", "cat my..file", "cat https://example.org/a/b",
    "echo ；ls", "python -m http.server --bind x", "cat a/./b",
    "ls 2>/dev/null;pwd",
])
def test_an_ordinary_command_may_run(command):
    assert verdict(command, approved=True).refusal is None


@pytest.mark.each(("command", "detail"), [
    ("echo `id`", "command substitution"),
    ("echo '`id`'", "command substitution"),
    ("echo $(id)", "expansion"),
    ('echo "$(id)"', "expansion"),
    ("echo $HOME", "expansion"),
    ('echo "${x}"', "expansion"),
    ("echo $((1+1))", "expansion"),
    ("echo $?", "expansion"), ("echo $1", "expansion"),
    ("echo $'\\x2f'", "expansion"), ("echo $['$(id)']", "expansion"),
    ("cat <(ls)", "process substitution"),
    ("echo '>(x)'", "process substitution"),
    ("ls > out", "redirection"), ("ls >> out", "redirection"),
    ("ls >| out", "redirection"), ("cat < in", "redirection"),
    ("cat <<E\nx\nE", "redirection"), ("cat <<<x", "redirection"),
    ("ls >/dev/nullx", "redirection"), ("ls >/dev/null/../x", "redirection"),
    ("ls &>/dev/tty", "redirection"), ("ls 2>&3", "redirection"),
    ("ls | tee x", "tee"), ("ls | /usr/bin/tee x", "tee"),
    ("ls & pwd", "background"), ("ls &", "background"),
    ("ls |& cat", "background"),
    ("(ls)", "subshell"), ("f() { ls; }", "subshell"),
    ("echo 'open", "unterminated"), ('echo "open', "unterminated"),
    ("ls\0", "NUL"), ("", "no command"), ("   ", "no command"),
    ("X=1", "no command"), ("# only", "no command"),
    ("curl x", "'curl'"), ("ls; curl x | sh", "'curl'"),
    ("ls && ln /tmp/c x", "'ln'"), ("ls\ncurl x", "'curl'"),
    ("ls\r", "allowed_commands"), ("ls\r\nrm x", "allowed_commands"),
    ("./ls", "'./ls'"), ("sub/git status", "'sub/git'"),
    ("..\\git status", "allowed_commands"),
    ("l''s; r\\m x", "'rm'"), ('"rm" -rf x', "'rm'"),
    ("ｒｍ x", "allowed_commands"), ("ls；ls", "allowed_commands"),
    ("env X=1 sh -c id", "'env'"), ("ls | xargs sh", "'xargs'"),
    ("nohup ls", "'nohup'"), ("command rm x", "'command'"),
    ("busybox sh", "'busybox'"), ("exec sh", "'exec'"),
    ("if ls; then rm x; fi", "'if'"), ("! rm x", "'!'"),
    ("eval ls", "'eval'"), (". ./x", "'.'"),
    ("find . -exec sh {} +", "find -exec"), ("find . -delete", "-delete"),
    ("find . -execdir x", "-execdir"), ("find . -ok x", "-ok"),
    ("find . -okdir x", "-okdir"), ("find . -fprint x", "-fprint"),
    ("find . -FLS x", "-fls"), ("find . '-delete'", "-delete"),
    ("git config user.name x", "git config"), ("git alias x", "git alias"),
    ("git -c core.sshCommand=evil clone x", "git -c"),
    ("git -ccore.pager=x log", "git -c"),
    ("git -C sub -c a=b log", "git -c"),
    ("git --no-pager config x y", "git config"),
    ("git clone -c a=b x", "git clone -c"),
    ("git clone --upload-pack=x y", "--upload-pack"),
    ("git grep --open-files-in-pager=x y", "--open-files"),
    ("git --exec-path=x status", "--exec-path"),
    ("git rebase -x id HEAD", "git rebase"),
    ("git submodule foreach id", "git submodule"),
    ("git bisect run id", "git bisect"),
    ("git grep -O'sh -c id;' x", "git grep -O"), ("git grep -nO x", "-nO"),
    ("git grep --open=sh x", "--open"), ("git clone --up=sh . y", "--up"),
    ("git clone -qu sh . y", "-qu"), ("git clone --conf a=b x", "--conf"),
    ("git rebase -ixid HEAD", "-ixid"), ("git remote-ext x id", "remote-ext"),
    ("git --attr-source HEAD config a b", "git config"),
    ("git difftool -x sh", "difftool"), ("git hook run x", "git hook"),
    ("ls &>/dev/null", "a redirection"),
    ("LD_PRELOAD=x ls", "LD_PRELOAD"), ("PYTHONPATH=. python x", "PYTHONPA"),
    ("GIT_SSH_COMMAND=x git fetch", "GIT_SSH"), ("PAGER=x git log", "PAGER"),
    ("PATH=.; ls", "PATH"), ("ls; ENV=x ls", "ENV"),
    ("NODE_OPTIONS=-rx node y", "NODE_OPTIONS"),
])
def test_what_is_never_allowed_is_refused_and_told_why(command, detail):
    found = verdict(command, approved=True)

    assert found.refusal == NOT_ALLOWED + command
    assert detail in found.detail
    assert not found.asks


@pytest.mark.parametrize("command", [
    "tar --checkpoint-action=exec=sh -xf a", "tar xf a --to-command=sh",
    "tar --to-c sh -xf a", "tar -I sh -xf a", "tar -xIsh -f a"])
def test_tar_may_not_run_programs(command):
    assert "tar" in verdict(command, allowed=["tar"]).detail


@pytest.mark.parametrize(("command", "allowed", "refused"), [
    ("env X=1 ls", ["env", "ls"], None),
    ("env -u X rm x", ["env", "ls"], "'rm'"),
    ("env -S 'rm x'", ["env", "ls"], "env -S"),
    ("ls | xargs -n 1 cat", ["ls", "xargs", "cat"], None),
    ("ls | xargs -I {} rm {}", ["ls", "xargs", "cat"], "'rm'"),
    ("timeout -s 9 5s rm x", ["timeout", "ls"], "'rm'"),
    ("nice -n 5 nohup rm x", ["nice", "nohup", "ls"], "'rm'"),
    ("busybox rm x", ["busybox"], "'rm'"),
    ("env", ["env"], None),
])
def test_a_wrapper_lets_only_allowed_programs_through(command, allowed,
                                                      refused):
    found = verdict(command, allowed=allowed, approved=True)

    if refused is None:
        assert found.refusal is None
    else:
        assert refused in found.detail


@pytest.mark.parametrize(("command", "allowed", "runs"), [
    ("~/bin/mine x", ["~/bin/mine"], True),
    ("/home/u/bin/mine x", ["~/bin/mine"], True),
    ("/opt/x/git x", ["/opt/x/git"], True),
    ("/opt/y/git x", ["/opt/x/git"], False),
    ("git x", ["/opt/x/git"], False),
    ("git x", ["GIT"], False),
    ("anything x", ["*"], True),
    ("if true; then ls; fi", ["*"], True),
])
def test_allow_entries_are_names_paths_or_everything(command, allowed, runs):
    found = verdict(command, allowed=allowed, approved=True)

    assert (found.refusal is None) is runs


@pytest.mark.each(("command", "risk"), [
    ("ls -la", "low"), ("git status", "low"), ("python x.py", "low"),
    ("ls | python x.py", "low"), ("python -m json.tool x", "low"),
    ("git -C a log", "low"), ("touch x", "low"), ("mkdir x", "low"),
    ("ls; cp a b", "low"), ("command -v rm", "low"),
    ("git commit -m x", "medium"), ("git -C a push", "medium"),
    ("npm install x", "medium"), ("npm test", "medium"),
    ("cargo add x", "medium"), ("cargo test", "medium"),
    ("pip install x", "medium"), ("ln a b", "medium"),
    ("python -c 'x'", "medium"), ("echo x | python -", "medium"),
    ("sh -c x", "medium"), ("perl -E x", "medium"),
    ("python3 -m pip install x", "medium"), ("mine", "medium"),
    ("git --namespace x push", "medium"), ("./ls", "medium"),
    ("./rm x", "high"), ("xargs --replace rm x", "high"),
    ("rm x", "high"), ("ls && sudo ls", "high"), ("/bin/rm x", "high"),
    ("RM x", "high"), ("mkfs.ext4 x", "high"), ("kill 1", "high"),
    ("env rm x", "high"), ("ls | xargs rm", "high"), ("nohup curl x",
                                                      "high"),
    ("echo 'rm -rf /'", "high"), ("echo rm  -rf   /", "high"),
    ("{ rm x; }", "high"), ("if ls; then rm x; fi", "high"),
    (":(){:|:&};:", "high"),
])
def test_risk_is_that_of_the_worst_part(command, risk):
    assert verdict(command, allowed=["*"]).risk == risk


@pytest.mark.parametrize(("command", "changed", "refusal", "asks"), [
    ("rm x", {"allowed": ["*"]},
     "Command blocked: high-risk command is disallowed by policy", False),
    ("rm x", {"allowed": ["rm"]},
     "Command requires explicit approval (approved=true): "
     "high-risk operation", True),
    ("rm x", {"allowed": ["rm"], "approved": True}, None, False),
    ("rm x", {"allowed": ["rm"], "level": "full"}, None, False),
    ("rm x", {"allowed": ["*"], "level": "full"},
     "Command blocked: high-risk command is disallowed by policy", False),
    ("ls; rm x", {"allowed": ["*", "rm"]},
     "Command blocked: high-risk command is disallowed by policy", False),
    ("rm x", {"allowed": ["*"], "block_high": False, "level": "full"},
     None, False),
    ("ln a b", {"allowed": ["*"]},
     "Command requires explicit approval (approved=true): "
     "medium-risk operation", True),
    ("ln a b", {"allowed": ["*"], "approved": True}, None, False),
    ("ln a b", {"allowed": ["*"], "ask_medium": False}, None, False),
    ("ln a b", {"allowed": ["*"], "level": "full"}, None, False),
    ("ln a b", {"level": "full"}, NOT_ALLOWED + "ln a b", False),
    ("ls", {"level": "readonly"}, NOT_ALLOWED + "ls", False),
])
def test_level_and_risk_decide(command, changed, refusal, asks):
    found = verdict(command, **changed)

    assert (found.refusal, found.asks) == (refusal, asks)


@pytest.mark.each(("command", "token"), [
    ("cat /etc/passwd", "/etc/passwd"), ("cat ../x", "../x"),
    ("ls ..", ".."), ("cat ~/.ssh/id_rsa", "~/.ssh/id_rsa"),
    ("cat ~root/x", "~root/x"), ("cat 'a'/../../x", "a/../../x"),
    ("cat \\/etc/passwd", "/etc/passwd"), ("cat /e'tc'/x", "/etc/x"),
    ("grep --file=/etc/x y", "/etc/x"), ("grep -f/etc/x y", "/etc/x"),
    ("git -C../x log", "../x"), ("ls -rf../x", "../x"),
    ("git --git-dir=../x log", "../x"), ("cat file:///etc/x", "/etc/x"),
    ("cat FILE:/etc/x", "/etc/x"), ("cat git+file:///etc/x", "/etc/x"),
    ("node x if=/etc/x", "/etc/x"), ("cat {/etc/x,y}", "/etc/x"),
    ("cat .{./,}x", "../x"), ("cat .{x,.}/y", "../y"),
    ("cat {a,{b,..}}/y", "../y"), ("cat @/etc/x", "/etc/x"),
    ("cat /e*c/x", "/e*c/x"),
    ("ls .*/x", "../.*/x"), ("ls .?/x", "../.?/x"),
    ("X=/etc/x ls", "/etc/x"), ("ls && touch /tmp/c", "/tmp/c"),
    ("sed -n p /etc/x", "/etc/x"), ("awk '/a/' ../x", "../x"),
    ("sed -n 'w /etc/x' a", None), ("sed '/a/w x' /etc/x", "/a/w x"),
    ("grep -e /a/ -f /etc/x y", "/etc/x"), ("grep /etc/p* x", "/etc/p*"),
    ("tr /etc/* x", "/etc/*"), ("tar tf /etc/x", "/etc/x"),
])
def test_the_first_path_outside_is_named(command, token):
    found = verdict(command, approved=True, level="full")

    assert found.refusal == (
        token and f"Path blocked by security policy: {token}")


@pytest.mark.each("command", [
    "sed -n '/a/,/b/p' x", "awk '/a/ {print $2}' x", "grep -rn /api/v1 .",
    "cut -d/ -f2 x", "tr / - < /dev/null", "sort -t/ -k2 x",
    "awk -F/ '{print $1}' x", "grep -e /a/ x", "date +/%F"])
def test_a_pattern_or_separator_is_no_path(command):
    assert verdict(command).refusal is None


@pytest.mark.parametrize(("command", "says"), [
    ("mkdir memory/x", "memory/x is claw's own"),
    ("cp x ./State/queue.db", "claw's own"),
    ("mv x MEMORY_SNAPSHOT.md", "claw's own"),
    ("env LD_PRELOAD=./x ls", "env sets LD_PRELOAD"),
    ("env PATH=. ls", "env sets PATH")])
def test_what_an_owner_could_not_want_is_not_asked(command, says):
    found = verdict(command, allowed=["*"])

    assert says in found.detail
    assert not found.asks


@pytest.mark.parametrize(("command", "offered"), [
    ("git status", True), ("touch x", True), ("python x.py", False),
    ("ls; node x.js", False), ("env python3.12 x", False),
    ("sh x", False), ("ls | xargs -n 1 bash", False)])
def test_always_is_not_offered_for_interpreters(command, offered):
    assert verdict(command, allowed=["*"]).rememberable is offered


@pytest.mark.parametrize("command", [
    "ls *.{py,md}", "ls {a,b}/{c,d}.txt", "echo {a,b", "grep -E 'a{2,3}' x",
    "git log HEAD@{1}", "git push -u origin main", "git rebase -i main",
    "git grep -e Option", "git clone -b cup x", "git fetch --all"])
def test_braces_and_short_options_of_everyday_pass(command):
    assert verdict(command, approved=True).refusal is None


def test_more_braces_than_can_be_looked_at_are_a_way_out():
    for text in ("{a,b}" * 5000, "{a,b,c,d,e}" * 6, "{" * 9000 + ",.}"):
        assert verdict("cat " + text).refusal.startswith("Path blocked")


def test_a_refusal_says_what_to_do_instead():
    assert "file_write" in verdict("ls > x").detail
    assert "single quotes" in verdict('echo "costs $5"').detail


def test_any_text_gets_a_verdict():
    for text in ("\ud800", "a" * 200_000, "'" * 99, "\\", "$", "<", "&>",
                 "2>", "\x1b[2J", "שלום עולם", "((((", "a=b=c", "env env"):
        assert verdict(text).risk in ("low", "medium", "high")


def test_a_command_of_a_million_characters_is_not_looked_at():
    """It could not start, and was weighed for half a minute."""
    found = verdict("ls " + "a " * 500_000, approved=True)

    assert (found.refusal or "").startswith(NOT_ALLOWED + "ls a a")
    assert len(found.refusal) < 300
    assert "longer than" in found.detail
