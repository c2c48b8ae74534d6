"""A program beside a test: a line of JSON for each question and answer."""

import json
import subprocess


class Program:
    """Ends with `close`; what it says is {"ok": ...} or {"error": ...}."""

    def __init__(self, *command):
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **asked):
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["ok"]

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)
