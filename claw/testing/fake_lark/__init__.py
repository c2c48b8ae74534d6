"""A Lark for tests: the Open API, long connections and posts to a webhook on
127.0.0.1.

    with FakeLark() as lark:
        lark.say("hello")          # ou_1001, in her private chat
        lark.answers()

See platform.py.
"""

from claw.testing.fake_lark.platform import FakeLark

__all__ = ["FakeLark"]
