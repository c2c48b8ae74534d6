"""A home with a policy, and servers of the other side."""

import pytest
from mcp_desk import Desk


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path / "home")
