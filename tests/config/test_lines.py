"""The line of each key, in every way TOML can be written."""

import tomllib

import pytest

from claw.config.keys import split_key
from claw.config.lines import line_table

TEXT = '''\
# a comment with [brackets] and = signs
top = "a # b = c"   # trailing

[memory]
backend = "sqlite"
"quoted key" = 1
a.b.c = true

[[model_routes]]
hint = "fast"
[[model_routes]]
hint = """
[not.a.table]
key = "no key"
"""
model = \'\'\'
[nor.here]\'\'\'

[ "dotted.name" . inner ]
list = [
  "a ] b", # ]
  { x = 1 },
]
after = 1
[[a]]
[a.sub]
x = "\\"]["
y = {"k" = "}"}
[[a]]
sub = 1
'''


@pytest.mark.each(("dotted", "line"), [
    ("top", 2),
    ("memory", 4),
    ("memory.backend", 5),
    ('memory."quoted key"', 6),
    ("memory.a.b.c", 7),
    ("model_routes", 9),
    ("model_routes.0", 9),
    ("model_routes.0.hint", 10),
    ("model_routes.1", 11),
    ("model_routes.1.hint", 12),
    ("model_routes.1.model", 16),
    ('"dotted.name".inner', 19),
    ('"dotted.name".inner.list', 20),
    ('"dotted.name".inner.after', 24),
    ("a.0.sub.x", 27),
    ("a.0.sub.y", 28),
    ("a.1.sub", 30),
])
@pytest.mark.each("newline", ["\n", "\r\n"])
def test_line_of_key(dotted, line, newline):
    table = line_table(TEXT.replace("\n", newline))

    assert table[split_key(dotted)] == line


def test_text_inside_strings_is_no_key():
    names = {path[0] for path in line_table(TEXT)}

    assert names == {"top", "memory", "model_routes", "dotted.name", "a"}


def test_no_final_newline():
    assert line_table("a = 1\nb = 'x'") == {("a",): 1, ("b",): 2}


@pytest.mark.parametrize("value", [
    '"""x""""', '"""x"""""', "'''x''''", "'''x'''''", '"""a"b""c"""',
    '"\\""', '"\\\\"', "'\\'", '""', "''", '"""\n\\""" = 1\n"""',
    "[\n'''\n]\n''', # ]\n]", "{ a = [ \"}\" ] }", "1 # ] } ' \""])
def test_a_value_ends_where_it_ends(value):
    text = f"a = {value}\nb = 1\n"
    tomllib.loads(text)

    assert line_table(text) == {("a",): 1, ("b",): text.count("\n")}
