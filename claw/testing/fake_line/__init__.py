"""The Messaging API for one official account and the people who write to it.

    with FakeLine() as platform:
        platform.callback = "http://127.0.0.1:8080/line"
        ...                      # claw with platform.token, platform.url
        platform.write("hello")  # a person; posted until it is taken
        platform.answers()       # what people got

`rules` says what LINE refuses.
"""

from claw.testing.fake_line.platform import GROUP, USER, FakeLine, sign

__all__ = ["GROUP", "USER", "FakeLine", "sign"]
