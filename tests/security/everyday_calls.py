"""120 calls of an owner's everyday turns: (tool, arguments).

RUNS run unasked. ASKS ask, as docs/tools.md says of what changes files,
sends, or runs programs. {site} is the address of a site that the owner
names. Files are those of obedient_world.py and of FILES.
"""

FILES = {
    "README.md": "# Tea\n\nTODO: pour it. See https://example.org/tea\n",
    "src/main.py": "import sys\n\n\ndef main():\n    print('tea', sys.argv)"
                   "\n\n\nmain()\n",
    "src/tea pot.py": "POT = 'tea'\n", "größe/ärger.txt": "Größe\ntea\n",
    "data.csv": "name,cups\nAda,3\nBob,2\nAda,3\n",
    "data.json": '{"items": [{"name": "tea", "n": 4}]}',
    "build.log": "ok\nerror: no water\nok\n", "a.txt": "a\nb\n",
    "b.txt": "a\nc\n", "notes/today.md": "- call Ada\n",
    "it's.txt": "quote\n", "日本.txt": "お茶\n", "old.txt": "old\n",
    "draft.txt": "draft\n", "test_tea.py": "def test_tea():\n    pass\n",
    "report2.py": "print(sum(range(4)))\n"}


def shell(commands):
    return [("shell", {"command": each})
            for each in commands.strip().split("\n")]


RUNS = [
    *shell(r"""
ls
ls -la src
ls | grep py
ls *.txt | wc -l
cat README.md
cat 'src/tea pot.py'
cat "it's.txt"
cat src/tea\ pot.py
cat größe/ärger.txt
cat 日本.txt
head -n 2 data.csv
tail -3 build.log
wc -l src/main.py README.md
grep -rn TODO .
grep -n "def main" src/main.py
grep -c error build.log
grep -v '^#' README.md | grep -v '^$'
find . -name '*.py' -not -path './.git/*'
find src -type f -mtime -7
sort data.csv | uniq -c | sort -rn
cut -d, -f1 data.csv | sort -u
awk -F, 'NR > 1 { s += $2 } END { print s }' data.csv
sed -n '1,3p' README.md
sed 's/tea/coffee/g' README.md
tr a-z A-Z < /dev/null
diff a.txt b.txt || true
du -sh .
df -h .
date +%F
pwd
which python3
echo "It costs 5 dollars"
echo 'single; quoted | text'
stat -c '%s %n' README.md
sha256sum data.csv
basename src/main.py .py
git status
git status --short --branch
git diff
git diff --stat
git log --oneline -5
git log -p -1 -- kept
git show HEAD:kept
git branch -a
git remote -v
git blame kept
git ls-files
git rev-parse --short HEAD
python3 src/main.py now
python3 report2.py
python3 -m json.tool data.json
python3 --version
mkdir -p out/reports
touch notes/tomorrow.md
cp README.md out/README.md
mv draft.txt notes/draft.txt
git add README.md
[ -f README.md ] && cat README.md
cd src && ls -1
LC_ALL=C sort data.csv
git tag
git stash list
git log --graph --all --oneline
nl -ba src/main.py
tac build.log
paste -d, a.txt b.txt
ls missing.txt || echo none
true && echo fine
"""),
    *(("file_read", {"path": path}) for path in (
        "README.md", "src/tea pot.py", "größe/ärger.txt", "日本.txt",
        "it's.txt", "./src/main.py")),
    ("file_read", {"path": "data.csv", "limit": 2}),
    ("glob_search", {"pattern": "**/*.py"}),
    ("glob_search", {"pattern": "*.txt"}),
    ("glob_search", {"pattern": "größe/*"}),
    ("content_search", {"pattern": "TODO"}),
    ("content_search", {"pattern": "def \\w+", "include": "*.py"}),
    ("content_search", {"pattern": "größe", "case_sensitive": False}),
    ("content_search", {"pattern": "tea", "path": "src",
                        "output_mode": "files_with_matches"}),
    ("pdf_read", {"path": "page.pdf"}),
    ("image_info", {"path": "do as I say.png"}),
    *(("git_operations", {"operation": name}) for name in (
        "status", "diff", "log", "branch")),
    ("git_operations", {"operation": "diff", "cached": True}),
    ("git_operations", {"operation": "log", "limit": 3}),
    ("git_operations", {"operation": "stash", "action": "list"}),
    ("calculator", {"function": "sqrt", "x": 2}),
    ("memory_store", {"key": "tea", "content": "The owner likes tea."}),
    ("memory_store", {"key": "größe", "content": "42", "category": "daily"}),
    ("memory_recall", {"query": "likes"}),
    ("memory_recall", {"query": "tea", "limit": 1}),
    ("web_fetch", {"url": "{site}page"}),
    ("web_fetch", {"url": "{site}page", "links": True}),
    ("web_search_tool", {"query": "tea"}),
    ("cron_list", {}),
    ("schedule", {"action": "list"}),
    ("backup", {"action": "list"}),
    ("sessions_list", {}),
    ("sessions_history", {"session": "told"}),
    ("model_switch", {"action": "get"}),
    ("model_switch", {"action": "list_models"}),
    ("tool_search", {"query": "weather"}),
    ("notices", {}),
    ("page__say", {"word": "hello"}),
]

# What of these is wanted often can be allowed: autonomy.auto_approve,
# claw permission allow.
ASKS = [
    ("file_write", {"path": "notes/new.md", "content": "- tea"}),
    ("file_write", {"path": "größe/neu.txt", "content": "ä"}),
    ("file_edit", {"path": "README.md", "old_string": "pour",
                   "new_string": "drink"}),
    ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n"
                              "-b\n+B\n*** End Patch"}),
    ("memory_forget", {"key": "mine"}),
    ("cron_add", {"schedule": {"kind": "cron", "expr": "0 9 * * 1"},
                  "prompt": "what is due this week?"}),
    ("schedule", {"action": "once", "delay": "30m", "command": "date"}),
    ("message", {"to": "telegram:1001", "text": "tea is ready"}),
    ("backup", {"action": "create"}),
    ("delegate", {"agent": "abroad", "task": "a rhyme on tea"}),
    ("git_operations", {"operation": "add", "paths": ["README.md"]}),
    ("git_operations", {"operation": "commit", "message": "tea"}),
    # rm is no program of autonomy.allowed_commands
    ("apply_patch", {"patch": "*** Begin Patch\n*** Delete File: old.txt\n"
                              "*** End Patch"}),
    *shell('git commit -am "tea: drink it"'),
    # Tests may do anything, as whatever module is named to Python.
    *shell("python3 -m pytest --version"),
]
