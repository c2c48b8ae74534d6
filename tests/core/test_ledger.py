"""The words of the ledger."""

import pytest

from claw.core.ledger import dollars, lowest


@pytest.mark.parametrize(("amount", "shown"), [
    (0, "$0.00"), (1, "$1.00"), (1234.5, "$1,234.50"), (0.5, "$0.5000"),
    (0.0123, "$0.0123"), (0.0001, "$0.0001"), (0.00001, "<$0.0001"),
])
def test_small_amounts_keep_their_digits(amount, shown):
    assert dollars(amount) == shown


@pytest.mark.parametrize(("limits", "least"), [
    ((), 0), ((0, 0), 0), ((-1,), 0), ((0, 0.5), 0.5), ((3, 2, 0), 2)])
def test_the_lowest_limit_is_one_that_is_set(limits, least):
    assert lowest(*limits) == least
