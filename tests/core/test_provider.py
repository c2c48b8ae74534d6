"""A provider that stands around another one closes that one too."""

import asyncio

from claw.core.provider import WrappedProvider


class Wrapper(WrappedProvider):
    async def chat_with_system(self, *args):
        raise NotImplementedError


def test_warm_up_and_end_reach_the_inner_provider():
    done = []

    class Inner:
        name = "inner"

        async def warmup(self):
            done.append("warm")

        async def aclose(self):
            done.append("closed")

    wrapper = Wrapper(Inner())

    asyncio.run(wrapper.warmup())
    asyncio.run(wrapper.aclose())

    assert done == ["warm", "closed"]
