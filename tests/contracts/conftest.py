import pytest

from claw.testing.contracts.channel import ChannelContract


@pytest.fixture(autouse=True)
def _places(tmp_path, request):
    """A channel's suite has a folder of its own for each test."""
    if isinstance(request.instance, ChannelContract):
        request.instance.tmp_path = tmp_path
