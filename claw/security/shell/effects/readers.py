"""Programs that read and print, with the options that keep it so.

From the manuals of GNU coreutils 9, diffutils, findutils, grep, tar,
util-linux, file, tree and jq, read 2026-11. Left out are options that
write, run, wait for ever or take file names from a file.
"""

import re
from collections.abc import Callable, Sequence

from claw.security.shell.effects import awk, sed
from claw.security.shell.effects.options import (
    NotListed,
    Parsed,
    has_pattern,
    parse,
)
from claw.security.shell.lexer import Word
from claw.security.shell.words import words as split_words

# Whatever their arguments, these write no file and run nothing: a pattern
# or xargs may hand them any word.
ANY_WORDS = {
    "cat": "-AbeEnstTuv --number --show-all --number-nonblank --squeeze-blank",
    "ls": "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1w:I:T: --all --almost-all "
          "--human-readable --recursive --reverse --size --sort: --time: "
          "--color? --format: --ignore: --directory --full-time --inode "
          "--group-directories-first --time-style: --classify? --si",
    "wc": "-cmlLw --bytes --chars --lines --words --max-line-length",
    "head": "-n:c:qvz -# --lines: --bytes: --quiet --verbose",
    "tail": "-n:c:qvz -# --lines: --bytes: --quiet --verbose",
    "grep": "-EFGPivwxclLnohHrRsqaIzybZUTe:f:m:A:B:C:d: -# --regexp: --file: "
            "--include: --exclude: --exclude-dir: --color? --colour? "
            "--count --ignore-case --invert-match --word-regexp "
            "--line-regexp --files-with-matches --files-without-match "
            "--line-number --only-matching --no-filename --with-filename "
            "--recursive --no-messages --quiet --silent --text --null "
            "--max-count: --context: --after-context: --before-context: "
            "--extended-regexp --fixed-strings --perl-regexp "
            "--basic-regexp --binary-files: --directories: --byte-offset",
    "cut": "-b:c:d:f:nsz --bytes: --characters: --delimiter: --fields: "
           "--complement --only-delimited --output-delimiter: "
           "--zero-terminated",
    "tr": "-cCdst --complement --delete --squeeze-repeats --truncate-set1",
    "cmp": "-bi:ln:s --bytes: --print-bytes --quiet --silent --verbose "
           "--ignore-initial:",
    "comm": "-123iz --check-order --nocheck-order --total "
            "--output-delimiter: --zero-terminated",
    "basename": "-as:z --multiple --suffix: --zero",
    "dirname": "-z --zero",
    "realpath": "-emLPqsz --relative-to: --relative-base: "
                "--canonicalize-existing --canonicalize-missing --quiet "
                "--strip --no-symlinks --logical --physical --zero",
    "readlink": "-femnqsvz --canonicalize --no-newline --zero",
    "stat": "-c:fLt --format: --printf: --dereference --file-system --terse",
    "nl": "-b:d:f:h:i:l:n:s:v:w:p --body-numbering: --number-format: "
          "--number-width: --number-separator: --starting-line-number:",
    "tac": "-brs: --before --regex --separator:",
    "rev": "",
    "fold": "-bsw: --bytes --spaces --width:",
    "fmt": "-cstuw: -# --width: --split-only --uniform-spacing",
    "expand": "-it: --initial --tabs:",
    "unexpand": "-at: --all --tabs: --first-only",
    "column": "-txnJLd:s:o:c:N:R:H:O:W:T:l: --table --separator: "
              "--output-separator: --output-width: --table-columns: --json "
              "--table-right: --table-hide: --table-order: --table-name:",
    "paste": "-d:sz --delimiters: --serial --zero-terminated",
    "join": "-a:e:ij:o:t:v:1:2:z --header --ignore-case --check-order "
            "--nocheck-order",
    "seq": "-f:s:w -# --format: --separator: --equal-width",
    **dict.fromkeys(
        ("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum",
         "sha512sum", "b2sum"),
        "-bctwzl: --binary --check --tag --text --zero --ignore-missing "
        "--quiet --status --strict --warn --length:"),
    "cksum": "",
    "od": "-A:j:N:t:vw?abcdfilosx --address-radix: --skip-bytes: "
          "--read-bytes: --format: --output-duplicates --width?",
    "hexdump": "-bcCdoxvn:s:e: --canonical --length: --skip:",
    "strings": "-an:t:oe: -# --all --bytes: --radix: --encoding:",
    "base64": "-diw: --decode --ignore-garbage --wrap:",
    "base32": "-diw: --decode --ignore-garbage --wrap:",
    "df": "-aBhHiklPTt:x:m --all --human-readable --si --inodes --local "
          "--portability --print-type --total --type: --exclude-type: "
          "--block-size: --output?",
    "du": "-0aAB:bcd:DhHklLmPsSxt: --all --apparent-size --bytes --total "
          "--max-depth: --human-readable --si --summarize --exclude: "
          "--one-file-system --time? --threshold: --block-size: --null "
          "--separate-dirs --inodes",
    "free": "-bkmghtwl --bytes --kibi --mebi --gibi --kilo --mega --giga "
            "--human --si --total --wide --lohi",
    "uname": "-asnrvmpio --all --kernel-name --nodename --kernel-release "
             "--kernel-version --machine --processor --operating-system",
    "uptime": "-ps --pretty --since",
    "pwd": "-LP --logical --physical",
    "nproc": "--all --ignore:",
    "id": "-aGgnruz --user --group --groups --name --real",
    "whoami": "", "groups": "", "arch": "",
    "which": "-as --all",
    "jq": "-rcsneSCMajR --raw-output --compact-output --slurp --null-input "
          "--exit-status --sort-keys --color-output --monochrome-output "
          "--ascii-output --join-output --raw-input --tab --indent: --seq "
          "--stream --unbuffered",
}
# No word of theirs is an option that matters.
_WORDS_ONLY = frozenset(("echo", "printf", "true", "false", "test", "[", ":",
                         "expr", "sleep", "type", "ps", "printenv", "cal"))
# A word too many, or an option, makes these write, run or wait.
_CAREFUL = {
    "sort": "-bcCdfghiMmnrRsuVzk:t:S: --key: --field-separator: --reverse "
            "--numeric-sort --unique --ignore-case --general-numeric-sort "
            "--human-numeric-sort --version-sort --stable --check? --merge "
            "--dictionary-order --ignore-leading-blanks --month-sort "
            "--random-sort --zero-terminated --buffer-size: --parallel: "
            "--sort: --debug",
    "uniq": "-cdDiuzf:s:w: --count --repeated --unique --ignore-case "
            "--skip-fields: --skip-chars: --check-chars: --all-repeated? "
            "--group? --zero-terminated",
    "diff": "-abBcdeEiNnpqrstTuwyU:C:W:x:I:F:L: -# --brief --recursive "
            "--unified? --context? --side-by-side --width: --exclude: "
            "--ignore-case --ignore-all-space --ignore-space-change "
            "--ignore-blank-lines --ignore-trailing-space --new-file "
            "--minimal --color? --suppress-common-lines --label: --text "
            "--report-identical-files --left-column --strip-trailing-cr "
            "--ignore-matching-lines: --normal --expand-tabs "
            "--show-c-function --no-dereference",
    "file": "-bikLhrNn0F:e:E --brief --mime --mime-type --mime-encoding "
            "--dereference --no-dereference --keep-going --no-pad "
            "--separator: --extension --exclude:",
    "tree": "-adfixlnCshDpugAFqNQvtcUrJXSL:I:P: --noreport --dirsfirst "
            "--filesfirst --du --prune --filelimit: --gitignore --si "
            "--matchdirs --ignore-case --inodes --sort? --charset:",
    "tar": "-tvzjJf: --list --verbose --gzip --bzip2 --xz --zstd --file: "
           "--wildcards --no-wildcards --exclude: --full-time "
           "--show-transformed-names --numeric-owner --utc",
    "date": "-uRI?d:r: --utc --universal --date: --iso-8601? --rfc-3339: "
            "--rfc-email --reference:",
    "hostname": "-fiIsdAay --fqdn --long --short --domain --ip-address "
                "--all-ip-addresses --all-fqdns --alias",
    "sed": "-nErsuze:l: --quiet --silent --regexp-extended --separate "
           "--unbuffered --null-data --expression: --line-length: --posix "
           "--debug --sandbox",
    "cd": "-LP",
}
_ALIASES = {"egrep": "grep", "fgrep": "grep", "gawk": "awk", "mawk": "awk",
            "nawk": "awk", "gsed": "sed", "gnutar": "tar"}

# Options whose value is text, and programs whose first operand is (unless
# one of these options brought it) or all operands are: "/" and /x/ are no
# paths there.
_TEXT_OPTIONS = {
    "cut": ("-d", "--delimiter", "--output-delimiter"),
    "sort": ("-t", "--field-separator"), "paste": ("-d", "--delimiters"),
    "column": ("-s", "-o", "--separator", "--output-separator"),
    "join": ("-t",), "nl": ("-s", "-b", "--number-separator"),
    "grep": ("-e", "--regexp"), "sed": ("-e", "--expression"),
    "awk": ("-F", "--field-separator"), "date": (), "jq": (), "tr": ()}
_TEXT_FIRST = frozenset(("grep", "sed", "awk", "jq"))

_FIND_FLAGS = frozenset(split_words(
    "-H -L -P -O0 -O1 -O2 -O3 ( ) ! , -not -a -and -o -or -empty -nouser "
    "-nogroup -readable -writable -executable -true -false -print -print0 "
    "-ls -prune -quit -depth -d -mount -xdev -daystart -follow -noleaf "
    "-nowarn -warn --help --version -help"))
_FIND_VALUED = frozenset(split_words(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex "
    "-regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin "
    "-newer -anewer -cnewer -newermt -newerct -newerat -newermm -maxdepth "
    "-mindepth -perm -user -group -uid -gid -links -inum -samefile -lname "
    "-ilname -printf -used -fstype"))


def check(name: str, words: Sequence[Word]) -> bool:
    """Whether `name` is one of these programs. Raises NotListed where it is
    and may do more than read."""
    name = _ALIASES.get(name, name)
    if name in _WORDS_ONLY:
        _refuse_variables(name, words)
        return True
    if name == "find":
        _find(words)
    elif name == "awk":
        awk.check(words)
    elif name in ANY_WORDS:
        if name == "jq":
            words = _jq(words)
        parse(name, ANY_WORDS[name], words, patterns=True)
    elif name in _CAREFUL:
        if name == "tar":
            words = _dashed(words)
        parsed = parse(name, _CAREFUL[name], words)
        if more := _MORE.get(name):
            more(parsed)
    else:
        return False
    return True


def knows(name: str) -> bool:
    """Whether `name` is one of these programs."""
    name = _ALIASES.get(name, name)
    return takes_any_words(name) or name in _CAREFUL \
        or name in ("find", "awk")


def _refuse_variables(name: str, words: Sequence[Word]) -> None:
    """Shells set or look up the variable that -v names, and run what stands
    in its index: a[$(command)]."""
    if name in ("printf", "test", "["):
        for word in words:
            if word.text.startswith(("-v", "-R")):
                raise NotListed(f"{name} {word.text[:2]} names a variable")


def takes_any_words(name: str) -> bool:
    """Whether the program only reads whatever words it is given."""
    name = _ALIASES.get(name, name)
    return name in ANY_WORDS or name in _WORDS_ONLY


def find_texts(name: str, words: Sequence[Word]) -> list[Word]:
    """The words that are patterns, scripts or separators, not paths.
    Raises NotListed as check does."""
    name = _ALIASES.get(name, name)
    if name not in _TEXT_OPTIONS:
        return []
    check(name, words)
    if name == "awk":
        parsed = parse(name, awk.OPTIONS, words, permute=False)
    else:
        parsed = parse(name, ANY_WORDS.get(name) or _CAREFUL[name],
                       _jq(words) if name == "jq" else words, patterns=True)
    texts = [o.word for o in parsed.options if o.name in _TEXT_OPTIONS[name]]
    if name == "tr":
        texts += parsed.operands
    elif name in _TEXT_FIRST and not any(
            map(parsed.has, ("-e", "--regexp", "--expression", "-f",
                             "--file"))):
        texts += parsed.operands[:1]
    # The shell may make several words of one with a pattern, files among them.
    return [word for word in texts if not has_pattern(word)]


def _find(words: Sequence[Word]) -> None:
    at = 0
    while at < len(words):
        word = words[at]
        _refuse_action(word)
        if word.text in _FIND_VALUED and at + 1 < len(words):
            at += 1
            _refuse_action(words[at])
            if re.match(r"-(?!\d)", words[at].text):
                raise NotListed(f"find {word.text} without a value")
        elif word.text.startswith("-") and word.text not in _FIND_FLAGS:
            raise NotListed(f"find {word.text[:40]} is not known to be "
                            "harmless")
        at += 1


def _refuse_action(word: Word) -> None:
    """A pattern of find may become the name of an action."""
    if re.match(r"[*?\[{]+(?!\.\w)", word.bare):
        raise NotListed(f"find {word.text}: a file's name could be taken "
                        f"for an action; quote it")


def _jq(words: Sequence[Word]) -> list[Word]:
    """Without --arg NAME VALUE and --args; the program loads no module."""
    kept: list[Word] = []
    at = 0
    while at < len(words):
        text = words[at].text
        if text in ("--arg", "--argjson"):
            at += 3
            continue
        if re.search(r"\b(?:import|include|modulemeta)\b", text):
            raise NotListed("jq loads a module")
        if text not in ("--args", "--jsonargs"):
            kept.append(words[at])
        at += 1
    return kept


def _dashed(words: Sequence[Word]) -> list[Word]:
    """tar's first word may be a bundle of options without a dash, whose
    values follow in order. Only one of them with a value is read."""
    if words and re.fullmatch(r"[tvzjJ]*f?[tvzjJ]*", words[0].text):
        first, *rest = words
        text = first.text
        if "f" in text:
            text = text.replace("f", "") + "f"
        return [Word("-" + text, "-" + text), *rest]
    return list(words)


def _tar(parsed: Parsed) -> None:
    if not (parsed.has("-t") or parsed.has("--list")):
        raise NotListed("tar does more than list")
    if any(":" in value for value in parsed.values("-f", "--file")):
        raise NotListed("tar: an archive on another host")


def _uniq(parsed: Parsed) -> None:
    if len(parsed.operands) > 1 or any(map(has_pattern, parsed.operands)):
        raise NotListed("uniq writes to its second file")


def _date(parsed: Parsed) -> None:
    if any(not w.text.startswith("+") for w in parsed.operands):
        raise NotListed("date sets the clock")


def _hostname(parsed: Parsed) -> None:
    if parsed.operands:
        raise NotListed("hostname sets the name")


def _sed(parsed: Parsed) -> None:
    scripts = parsed.values("-e", "--expression")
    if not scripts and parsed.operands:
        program = parsed.operands[0]
        if has_pattern(program):
            raise NotListed("sed: a script without quotes")
        scripts = [program.text]
    sed.check("\n".join(scripts))


_MORE: dict[str, Callable[[Parsed], None]] = {
    "tar": _tar, "uniq": _uniq, "date": _date, "hostname": _hostname,
    "sed": _sed}
