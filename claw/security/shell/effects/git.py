"""git's sub-commands that only read, and those that prepare a commit.

From git 2.39 to 2.51's manuals. Left out are options that write a file,
run a program or wait for a person.
"""

from collections.abc import Mapping, Sequence

from claw.security.shell.effects.movers import check_path
from claw.security.shell.effects.options import (
    NotListed,
    Parsed,
    has_pattern,
    parse,
)
from claw.security.shell.lexer import Word

_OWN = ("-PC: --no-pager --no-optional-locks --literal-pathspecs "
        "--no-replace-objects")
_DIFF = ("-puswWbRaz0U:M?C?B?D?S:G: -# --patch --no-patch --unified? "
         "--stat? --numstat --shortstat --dirstat? --summary --name-only "
         "--name-status --color? --no-color --color-words? --word-diff? "
         "--minimal --patience --histogram --diff-algorithm: --check "
         "--full-index --abbrev? --binary --find-renames? --find-copies? "
         "--no-renames --diff-filter: --pickaxe-regex --pickaxe-all "
         "--relative? --text --ignore-space-at-eol --ignore-space-change "
         "--ignore-all-space --ignore-blank-lines --inter-hunk-context? "
         "--function-context --exit-code --quiet --no-ext-diff "
         "--no-textconv --ignore-submodules? --submodule? --no-prefix "
         "--raw --cc --compact-summary --patch-with-stat ")
_LOG = (_DIFF + "-n:iEFPgcmtrL: --oneline --graph --all --branches? --tags? "
        "--remotes? --decorate? --no-decorate --max-count: --skip: --since: "
        "--after: --until: --before: --author: --committer: --grep: "
        "--all-match --invert-grep --merges --no-merges --first-parent "
        "--follow --reverse --date: --relative-date --format? --pretty? "
        "--abbrev-commit --no-abbrev-commit --topo-order --date-order "
        "--author-date-order --left-right --cherry-pick --cherry-mark "
        "--cherry --ancestry-path --full-history --simplify-by-decoration "
        "--walk-reflogs --boundary --count --not --notes? --no-notes "
        "--parents --children --no-walk? --regexp-ignore-case "
        "--extended-regexp --fixed-strings --source --full-diff --root "
        "--objects --min-parents? --max-parents? --exclude?")

# Sub-commands that read whatever their operands are.
_READS = {
    "status": "-sbu?vz --short --branch --porcelain? --long --verbose "
              "--untracked-files? --ignored? --show-stash --ahead-behind "
              "--no-ahead-behind --column? --no-column --renames "
              "--no-renames --ignore-submodules? --null",
    "log": _LOG, "show": _LOG, "rev-list": _LOG,
    "diff": _DIFF + " --cached --staged --merge-base --no-index",
    "diff-tree": _LOG, "diff-index": _DIFF + " --cached",
    "diff-files": _DIFF,
    "shortlog": "-nsec --numbered --summary --email --committer --group: "
                "--all --since: --until: --no-merges --format:",
    "blame": "-bceflnpstwL:M?C? --porcelain --line-porcelain --show-email "
             "--show-name --show-number --date: --abbrev: --root "
             "--incremental --since: --reverse --first-parent",
    "annotate": "-ltL:",
    "describe": "--all --tags --long --always --dirty? --broken? --abbrev: "
                "--match: --exclude: --exact-match --contains "
                "--first-parent --candidates:",
    "rev-parse": "-q --abbrev-ref? --short? --verify --quiet --symbolic "
                 "--symbolic-full-name --show-toplevel --show-cdup "
                 "--show-prefix --git-dir --absolute-git-dir --is-inside-"
                 "work-tree --is-inside-git-dir --is-bare-repository "
                 "--is-shallow-repository --all --branches? --tags? "
                 "--remotes? --git-common-dir --show-object-format?",
    "ls-files": "-cdmokuizstvfx: --cached --deleted --modified --others "
                "--ignored --stage --unmerged --killed --exclude: "
                "--exclude-standard --directory --error-unmatch --full-name "
                "--abbrev? --eol --deduplicate --format:",
    "ls-tree": "-drtlz --long --name-only --name-status --object-only "
               "--full-name --full-tree --abbrev? --format:",
    "cat-file": "-tsep",
    "grep": "-aiIwvhHEGPFnlLzocqpWe:A:B:C:m: -# --cached --untracked "
            "--no-index --ignore-case --word-regexp --invert-match "
            "--line-number --column --files-with-matches --name-only "
            "--files-without-match --only-matching --count --color? "
            "--no-color --break --heading --show-function --context: "
            "--after-context: --before-context: --function-context "
            "--max-depth: --max-count: --threads: --and --or --not "
            "--all-match --quiet --extended-regexp --basic-regexp "
            "--fixed-strings --perl-regexp --text --full-name",
    "merge-base": "-a --all --octopus --independent --is-ancestor "
                  "--fork-point",
    "name-rev": "--tags --all --name-only --always",
    "show-ref": "-qsd --head --heads --tags --branches --hash? --abbrev? "
                "--verify --quiet --dereference",
    "for-each-ref": "--count: --sort: --format: --points-at: --merged? "
                    "--no-merged? --contains? --no-contains? --ignore-case",
    "cherry": "-v --verbose --abbrev?",
    "count-objects": "-vH --verbose --human-readable",
    "check-ignore": "-qvnz --quiet --verbose --non-matching --no-index",
    "check-attr": "-az --all --cached",
    "range-diff": _DIFF, "var": "-l", "version": "--build-options",
}
# Those that read without an operand, or with an option that lists.
_LISTS = {
    "branch": "-avrlqi --list --all --verbose --remotes --show-current "
              "--contains? --no-contains? --merged? --no-merged? --sort: "
              "--format: --points-at: --color? --no-color --column? "
              "--no-column --abbrev? --ignore-case",
    "tag": "-n?li --list --sort: --format: --contains? --no-contains? "
           "--merged? --no-merged? --points-at: --color? --column? "
           "--no-column --ignore-case",
}
_LISTING = ("-l", "--list", "--contains", "--no-contains", "--merged",
            "--no-merged", "--points-at")
# Those whose next word decides ("" for none).
_NESTED = {
    "stash": {"list": _LOG, "show": _LOG},
    "remote": {"": "-v --verbose", "get-url": "--all --push"},
    "worktree": {"list": "-vz --porcelain --verbose"},
    "notes": {"": "", "list": "", "show": ""},
    "reflog": {"": _LOG, "show": _LOG},
    "submodule": {"": "-q --quiet", "status": "-q --cached --recursive"},
    "bisect": {"log": ""},
}
_CONFIG = ("-lz --get --get-all --get-regexp --get-urlmatch --list --local "
           "--global --system --worktree --show-origin --show-scope "
           "--name-only --null --type: --bool --int --bool-or-int --path "
           "--includes --no-includes --default:")
_GETS = ("-l", "--list", "--get", "--get-all", "--get-regexp",
         "--get-urlmatch")
# These fill the index, or begin a repository with nothing in it.
_PREPARES = {"add": "-AnuvN --all --update --dry-run --verbose "
                    "--intent-to-add --ignore-errors --no-all",
             "init": "-qb: --quiet --initial-branch:"}


def check(words: Sequence[Word]) -> bool:
    """Whether the call only reads; False for one of _PREPARES.
    Raises NotListed for all others."""
    own = parse("git", _OWN, words, permute=False)
    if not own.operands:
        return True  # git, git --version
    if any(word.text == "--help" for word in words):
        raise NotListed("git --help opens a pager")
    verb, rest = own.operands[0].text, own.operands[1:]
    name = f"git {verb[:40]}"
    if verb in _PREPARES:
        for word in parse(name, _PREPARES[verb], rest).operands:
            if verb == "init":
                check_path(name, word)
        return False
    if verb in _READS:
        parsed, reads = parse(name, _READS[verb], rest), True
    elif verb in _LISTS:
        parsed = parse(name, _LISTS[verb], rest)
        reads = not parsed.operands or any(map(parsed.has, _LISTING))
    elif verb in _NESTED:
        parsed, reads = _nested(name, _NESTED[verb], rest)
    elif verb == "config":
        parsed = parse(name, _CONFIG, rest)
        reads = _gets(parsed)
    else:
        reads = False
    if not reads:
        raise NotListed(f"{name} is not known to only read")
    if any("%G" in o.value or "(signature" in o.value
           for o in parsed.options):
        raise NotListed(f"{name} runs gpg")
    return True


def reads_configuration(args: Sequence[str]) -> bool:
    """Whether `git config` with these arguments only looks."""
    try:
        return _gets(parse("git config", _CONFIG, [Word(a, a) for a in args]))
    except NotListed:
        return False


def _nested(name: str, tables: Mapping[str, str], words: Sequence[Word]
            ) -> tuple[Parsed, bool]:
    verb = words[0].text if words else ""
    if verb.startswith("-"):
        verb = ""
    if verb not in tables:
        raise NotListed(f"{name} {verb[:40]}".rstrip()
                        + " is not known to only read")
    parsed = parse(name, tables[verb], words[1:] if verb else words)
    return parsed, bool(verb or not parsed.operands)


def _gets(parsed: Parsed) -> bool:
    """A name alone is read; a name and a value are set."""
    if any(map(parsed.has, _GETS)):
        return True
    operands = parsed.operands
    return len(operands) == 1 and "." in operands[0].text \
        and not has_pattern(operands[0])
