"""A homeserver for tests: rooms, /sync as a long poll, keys of sends,
media, and what people do there.

    with FakeMatrix() as platform:
        platform.post("hello")       # @alice writes in !room:fake
        platform.answers()           # what she reads

Facts: spec.matrix.org, client-server API 1.16, and how Synapse 1.163 behaves
(tests/peers/test_matrix_synapse.py holds both to the same).
"""

from claw.testing.fake_matrix.platform import ALICE, BOT, ROOM, FakeMatrix

__all__ = ["ALICE", "BOT", "ROOM", "FakeMatrix"]
