import pytest
from agent_parts import Echo


@pytest.fixture
def echo():
    return Echo()
