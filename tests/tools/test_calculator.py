"""Exact arithmetic, and what can't be calculated."""

import pytest

from claw.tools.calculator import _FUNCTIONS, Calculator


def calculate(room, function, **args):
    return room.call(Calculator(room.deps()), function=function, **args)


@pytest.mark.parametrize(("function", "args", "result"), [
    ("add", {"values": [0.1, 0.2]}, "0.3"),
    ("add", {"a": 1, "b": 2}, "3"),
    ("subtract", {"a": 1, "b": 0.9}, "0.1"),
    ("subtract", {"values": [10, 3, 2]}, "5"),
    ("multiply", {"values": [3, 0.1]}, "0.3"),
    ("multiply", {"values": [12345678901234567890, 98765432109876543210]},
     "1219326311370217952237463801111263526900"),
    ("divide", {"a": 1, "b": 8}, "0.125"),
    ("divide", {"a": 1, "b": 3},
     "0.3333333333333333333333333333 (exactly 1/3)"),
    ("pow", {"a": 2, "b": 100}, str(2 ** 100)),
    ("pow", {"a": 2, "b": -2}, "0.25"),
    ("pow", {"a": 4, "b": 0.5}, "2"),
    ("pow", {"a": 0, "b": 0}, "1"),
    ("pow", {"a": -1, "b": 10 ** 30}, "1"),
    ("pow", {"a": 2, "b": 0.3}, "1.231144413344916284499393069 (rounded)"),
    ("sqrt", {"x": 2}, "1.414213562373095048801688724 (rounded)"),
    ("sqrt", {"x": 0.25}, "0.5"),
    ("sqrt", {"x": 10 ** 40}, str(10 ** 20)),
    ("abs", {"x": -3.5}, "3.5"),
    ("modulo", {"a": 7, "b": 3}, "1"),
    ("modulo", {"a": -7, "b": 3}, "2"),
    ("round", {"x": 2.5}, "3"),
    ("round", {"x": -2.5}, "-3"),
    ("round", {"x": 2.675, "decimals": 2}, "2.68"),
    ("round", {"x": 1234, "decimals": -2}, "1200"),
    ("log", {"x": 1000}, "3"),
    ("log", {"x": 0.001}, "-3"),
    ("log", {"x": 8, "base": 2}, "3"),
    ("log", {"x": 2}, "0.3010299956639811952137388947 (rounded)"),
    ("ln", {"x": 1}, "0"),
    ("ln", {"x": 2}, "0.6931471805599453094172321215 (rounded)"),
    ("exp", {"x": 1}, "2.718281828459045235360287471 (rounded)"),
    ("exp", {"x": 0}, "1"),
    ("factorial", {"x": 20}, "2432902008176640000"),
    ("sum", {"values": [0.1] * 10}, "1"),
    ("average", {"values": [1, 2]}, "1.5"),
    ("median", {"values": [3, 1, 2]}, "2"),
    ("median", {"values": [4, 1, 2, 3]}, "2.5"),
    ("mode", {"values": [1, 2, 2, 3, 3]}, "2, 3"),
    ("min", {"values": [3, -1]}, "-1"),
    ("max", {"values": [3, -1]}, "3"),
    ("range", {"values": [3, -1]}, "4"),
    ("variance", {"values": [2, 4, 4, 4, 5, 5, 7, 9]}, "4"),
    ("stdev", {"values": [2, 4, 4, 4, 5, 5, 7, 9]}, "2"),
    ("percentile", {"values": [1, 2, 3, 4], "p": 25}, "1.75"),
    ("count", {"values": [1, 1, 1]}, "3"),
    ("percentage_change", {"a": 80, "b": 100}, "25"),
    ("percentage_change", {"a": -80, "b": -100}, "-25"),
    ("clamp", {"x": 12, "min_val": 0, "max_val": 10}, "10"),
])
def test_a_result_is_exact(room, function, args, result):
    done = calculate(room, function, **args)

    assert (done.output, done.error) == (result, None)


def test_there_are_26_functions():
    assert len(_FUNCTIONS) == 26


@pytest.mark.parametrize(("function", "args", "why"), [
    ("divide", {"a": 1, "b": 0}, "division by zero"),
    ("modulo", {"a": 1, "b": 0}, "division by zero"),
    ("pow", {"a": 0, "b": -1}, "division by zero"),
    ("percentage_change", {"a": 0, "b": 1}, "division by zero"),
    ("sqrt", {"x": -1}, "no real number"),
    ("pow", {"a": -8, "b": 0.5}, "no real number"),
    ("log", {"x": 0}, "needs x > 0"),
    ("log", {"x": 5, "base": 1}, "not 1"),
    ("ln", {"x": -1}, "needs x > 0"),
    ("factorial", {"x": -1}, "whole number from 0 to 1200"),
    ("factorial", {"x": 2.5}, "whole number"),
    ("factorial", {"x": 10 ** 9}, "whole number"),
    ("pow", {"a": 9, "b": 10 ** 9}, "too large"),
    ("pow", {"a": 1.5, "b": 1e300}, "too large"),
    ("pow", {"a": 9e300, "b": 9.5e300}, "too large"),
    ("exp", {"x": 1e300}, "too large"),
    ("multiply", {"values": [1e300] * 100}, "too large"),
    ("add", {"values": []}, "values is empty"),
    ("add", {"values": [1] * 10_001}, "at most 10000 values"),
    ("add", {"a": 1}, "add needs b"),
    ("sqrt", {}, "sqrt needs x"),
    ("percentile", {"values": [1], "p": 101}, "0 to 100"),
    ("clamp", {"x": 1, "min_val": 2, "max_val": 1}, "min_val is over"),
    ("add", {"values": [1, "2"]}, "'values[1]' must be a number"),
    ("add", {"values": [True]}, "'values[0]' must be a number"),
    ("sqrt", {"x": float("inf")}, "must be a finite number"),
    ("eval", {}, "must be one of"),
])
def test_what_has_no_result_is_told(room, function, args, why):
    done = calculate(room, function, **args)

    assert not done.success
    assert why in done.error
