"""Records, frozen and open."""

from typing import ClassVar

import pytest

from claw.core.value import Record, Value, hidden, made, replace


class Point(Value):
    x: int
    y: int = 0
    unit: ClassVar[str] = "m"


class Key(Value):
    name: str
    secret: str = hidden()
    tags: list[str] = made(factory=list)


class Far(Point):
    z: int = 9


class Count(Record):
    name: str
    total: int = 0


def test_an_open_record_changes_and_is_no_key():
    count = Count("tea")
    count.total += 2

    assert count == Count("tea", 2) == replace(Count("tea"), total=2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(count)


def test_fields_by_place_and_by_name():
    assert (Point(1).x, Point(1).y) == (1, 0)
    assert Point(1, 2) == Point(y=2, x=1)
    assert Far(1, z=3).z == 3
    assert Far(1).z == 9


@pytest.mark.parametrize("call", [
    lambda: Point(),
    lambda: Point(1, 2, 3),
    lambda: Point(1, x=2),
    lambda: Point(1, w=2),
    lambda: Key("a"),
])
def test_wrong_fields_are_refused(call):
    with pytest.raises(TypeError):
        call()


def test_equal_by_type_and_fields_and_usable_as_key():
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != (1, 2)
    assert Point(1, 9) != Far(1, 9)
    assert {Point(1): "a"}[Point(1, 0)] == "a"


def test_frozen():
    point = Point(1)

    with pytest.raises(AttributeError):
        point.x = 2
    with pytest.raises(AttributeError):
        del point.x
    assert point == Point(1)


def test_each_value_gets_its_own_default():
    first, second = Key("a", "s"), Key("b", "s")
    first.tags.append("t")

    assert second.tags == []


def test_repr_leaves_hidden_fields_out():
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert "s3cret" not in repr(Key("a", "s3cret"))


def test_replace_keeps_the_rest():
    assert replace(Point(1, 2), y=3) == Point(1, 3)
    with pytest.raises(TypeError):
        replace(Point(1), w=1)


def test_post_init_may_refuse():
    class Positive(Value):
        n: int

        def __post_init__(self):
            if self.n <= 0:
                raise ValueError("n")

    assert Positive(1).n == 1
    with pytest.raises(ValueError, match="n"):
        Positive(0)


def test_match_statement():
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
