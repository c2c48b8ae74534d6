"""A Slack for tests: the Web API and Socket Mode on 127.0.0.1.

    with FakeSlack() as slack:
        slack.say("hello")          # alice, in her private chat
        slack.answers()

See platform.py.
"""

from claw.testing.fake_slack.platform import FakeSlack

__all__ = ["FakeSlack"]
