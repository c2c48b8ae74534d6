"""SchemaCleaner: schemas and what each strategy makes of them, by hand.

A row names what is expected of g(emini), a(nthropic), o(penai) and
c(onservative); what isn't named comes out as it went in.
"""

import copy

import pytest

from claw.providers.schema import CleaningStrategy, clean_schema

SAME = object()
STRATEGIES = {"g": CleaningStrategy.GEMINI, "a": CleaningStrategy.ANTHROPIC,
              "o": CleaningStrategy.OPENAI,
              "c": CleaningStrategy.CONSERVATIVE}
ROWS = {}


def row(name, schema, **expected):
    assert name not in ROWS, name
    ROWS[name] = (schema, expected)


def obj(required=None, /, **properties):
    result = {"type": "object", "properties": properties}
    return {**result, "required": required} if required else result


def each(letters, expected):
    """The same for several strategies."""
    return dict.fromkeys(letters, expected)


S, INT, N, B = ({"type": kind} for kind in (
    "string", "integer", "number", "boolean"))
NULL = {"type": "null"}
MAYBE_S = {"type": "string", "nullable": True}

# --- plain schemas stay as they are -----------------------------------
for kind in ("string", "integer", "number", "boolean", "object", "null"):
    row(f"bare {kind}", {"type": kind})
row("empty", {})
row("title and description",
    {"type": "string", "title": "T", "description": "d"})
row("text in any language", {"type": "string", "description": "数 é 🦀"})
row("default", {"type": "integer", "default": 3})
row("default null", {"type": "string", "default": None})
row("empty object", obj())
row("two properties", obj(["a"], a=S, b=INT))
row("array of strings", {"type": "array", "items": S})
row("array of arrays", {"type": "array", "items":
                        {"type": "array", "items": N}})
row("array of objects", {"type": "array", "items": obj(["x"], x=N)})
row("array without items", {"type": "array"})
row("enum of strings", {"type": "string", "enum": ["a", "b"]})
row("nested objects", obj(a=obj(b=obj(c=S))))

# --- bounds -----------------------------------------------------------
row("minLength", {"type": "string", "minLength": 1}, g=S, a=S)
row("pattern", {"type": "string", "pattern": "^a"}, g=S, a=S)
row("minLength and pattern deep down",
    obj(a={"type": "array", "items":
           {"type": "string", "minLength": 2, "pattern": "x"}}),
    g=obj(a={"type": "array", "items": S}),
    a=obj(a={"type": "array", "items": S}))
for key, kind, value in (
        ("maxLength", "string", 9), ("format", "string", "date-time"),
        ("minimum", "integer", 0), ("maximum", "number", 1.5),
        ("exclusiveMinimum", "number", 0), ("multipleOf", "integer", 2),
        ("exclusiveMaximum", "number", 9),
        ("contentEncoding", "string", "base64"),
        ("minProperties", "object", 1), ("maxProperties", "object", 2)):
    row(key, {"type": kind, key: value}, g={"type": kind})
for key, value in (("minItems", 1), ("maxItems", 3), ("uniqueItems", True)):
    row(key, {"type": "array", "items": S, key: value},
        g={"type": "array", "items": S})
row("every bound of the reference's example",
    {"type": "string", "minLength": 1, "maxLength": 100,
     "pattern": "^[a-z]+$", "description": "lower case"},
    g={"type": "string", "description": "lower case"},
    a={"type": "string", "maxLength": 100, "description": "lower case"})

# --- keywords about the schema itself ---------------------------------
for key, value in (("$schema", "https://json-schema.org/draft/2020-12"),
                   ("$id", "https://example.com/s"), ("$comment", "why"),
                   ("examples", ["a"]), ("deprecated", True),
                   ("readOnly", True), ("x-order", {"minLength": 3}),
                   ("$anchor", "here")):
    row(key, {"type": "string", key: value}, g=S)
row("Gemini's own example and order",
    {"type": "object", "properties": {"a": S, "b": S},
     "propertyOrdering": ["b", "a"], "example": {"a": "x"}})
row("an order of what is not there",
    {"type": "object", "properties": {"a": S},
     "propertyOrdering": ["b", "a"]},
    g={"type": "object", "properties": {"a": S}, "propertyOrdering": ["a"]})
row("unused definitions", {"type": "string", "$defs": {"A": S},
                           "definitions": {"B": S}}, g=S, a=S, c=S)

# --- additionalProperties and its kin ---------------------------------
row("additionalProperties false", {**obj(a=S), "additionalProperties": False},
    g=obj(a=S), c=obj(a=S))
row("additionalProperties a schema",
    {"type": "object", "additionalProperties": {"type": "string",
                                                "minLength": 1}},
    g={"type": "object"}, c={"type": "object"},
    a={"type": "object", "additionalProperties": S})
row("unevaluatedProperties",
    {**obj(a=S), "unevaluatedProperties": False}, g=obj(a=S), c=obj(a=S))
row("patternProperties",
    {"type": "object", "patternProperties": {"^x": {"type": "string",
                                                    "pattern": "y"}}},
    g={"type": "object"},
    a={"type": "object", "patternProperties": {"^x": S}})
row("propertyNames",
    {"type": "object", "propertyNames": {"pattern": "^a"}},
    g={"type": "object"}, a={"type": "object", "propertyNames": {}})
row("dependentRequired",
    {**obj(a=S, b=S), "dependentRequired": {"a": ["b"]}}, g=obj(a=S, b=S))
row("dependentSchemas",
    {**obj(a=S), "dependentSchemas": {"a": obj(b={"pattern": "x"})}},
    g=obj(a=S), a={**obj(a=S), "dependentSchemas": {"a": obj(b={})}})
row("dependencies of draft 7",
    {**obj(a=S), "dependencies": {"a": ["minLength"],
                                  "b": {"minLength": 1, "title": "t"}}},
    g=obj(a=S), a={**obj(a=S), "dependencies": {"a": ["minLength"],
                                                "b": {"title": "t"}}})

# --- references -------------------------------------------------------
AGE = {"type": "integer", "minimum": 0}
for home in ("$defs", "definitions"):
    row(f"a reference into {home}",
        {**obj(age={"$ref": f"#/{home}/Age"}), home: {"Age": AGE}},
        g=obj(age=INT), a=obj(age=AGE), c=obj(age=AGE))
row("a reference as the root",
    {"$ref": "#/$defs/A", "$defs": {"A": obj(x=S)}},
    g=obj(x=S), a=obj(x=S), c=obj(x=S))
row("a reference with words of its own",
    {"$ref": "#/$defs/A", "description": "mine", "title": "T",
     "default": "x", "$defs": {"A": {**S, "description": "theirs"}}},
    **each("gac", {**S, "description": "mine", "title": "T",
                            "default": "x"}))
row("other neighbours of a reference fall away",
    {**obj(a={"$ref": "#/$defs/A", "maxLength": 5, "type": "integer"}),
     "$defs": {"A": S}}, **each("gac", obj(a=S)))
row("a chain of references",
    {**obj(a={"$ref": "#/$defs/A", "description": "outer"}),
     "$defs": {"A": {"$ref": "#/$defs/B", "description": "middle"},
               "B": {**S, "description": "inner"}}},
    **each("gac", obj(a={**S, "description": "outer"})))
row("a reference used twice",
    {**obj(a={"$ref": "#/$defs/A"}, b={"$ref": "#/$defs/A"}),
     "$defs": {"A": INT}}, **each("gac", obj(a=INT, b=INT)))
row("a definition that refers to another",
    {**obj(a={"$ref": "#/$defs/A"}),
     "$defs": {"A": obj(b={"$ref": "#/$defs/B"}), "B": INT}},
    **each("gac", obj(a=obj(b=INT))))
row("an unknown reference",
    obj(a={"$ref": "#/$defs/Nope", "description": "d"}),
    **each("gac", obj(a={"description": "d"})))
row("a remote reference",
    obj(a={"$ref": "https://example.com/a.json", "title": "t"}),
    **each("gac", obj(a={"title": "t"})))
row("a relative reference", obj(a={"$ref": "other.json#/$defs/A"}),
    **each("gac", obj(a={})))
row("an anchor", {**obj(a={"$ref": "#here"}),
                  "$defs": {"A": {"$anchor": "here", **S}}},
    **each("gac", obj(a={})))
row("a reference that is no text", obj(a={"$ref": 5, "title": "t"}),
    **each("gac", obj(a={"title": "t"})))
row("a definition that names itself",
    {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
    **each("gac", {}))
row("two that name each other",
    {**obj(a={"$ref": "#/$defs/A"}), "$defs": {
        "A": {"$ref": "#/$defs/B"},
        "B": {"$ref": "#/$defs/A", "description": "d"}}},
    **each("gac", obj(a={"description": "d"})))
TREE = obj(name=S, children={"type": "array",
                             "items": {"$ref": "#/$defs/Tree"}})
OPEN = {"type": "array", "items": {}}
row("a tree", {"$ref": "#/$defs/Tree", "$defs": {"Tree": TREE}},
    **each("gac", obj(name=S, children=OPEN)))
row("the root below itself", obj(name=S, child={"$ref": "#",
                                                "description": "d"}),
    **each("gac", obj(name=S, child={"description": "d"})))
row("a reference to a property", obj(a=INT, b={"$ref": "#/properties/a"}),
    **each("gac", obj(a=INT, b=INT)))
row("a reference into nested definitions",
    obj(a={"type": "object", "properties": {
        "b": {"$ref": "#/properties/a/$defs/B"}}, "$defs": {"B": N}}),
    **each("gac", obj(a=obj(b=N))))
row("a reference into a list",
    {**obj(a={"$ref": "#/$defs/L/allOf/1"}),
     "$defs": {"L": {"allOf": [S, INT]}}}, **each("gac", obj(a=INT)))
for name, pointer in (("a/b", "a~1b"), ("a~b", "a~0b"), ("~1", "~01"),
                      ("a%b", "a%25b"), ("a b", "a%20b"), ("é", "%C3%A9")):
    row(f"an escaped name: {name}",
        {**obj(x={"$ref": f"#/$defs/{pointer}"}), "$defs": {name: INT}},
        **each("gac", obj(x=INT)))
row("a definition called $ref",
    {**obj(x={"$ref": "#/$defs/$ref"}), "$defs": {"$ref": INT}},
    **each("gac", obj(x=INT)))
row("a definition that is true",
    {**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": True}},
    **each("gac", obj(x={})))
row("a definition that is false",
    {**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": False}},
    g=obj(x={}), a=obj(x={"not": {}}), c=obj(x={"not": {}}))
row("a definition that is no schema",
    {**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": [1]}},
    o={**obj(x={"$ref": "#/$defs/A"}), "$defs": {"A": {}}},
    **each("gac", obj(x={})))
row("nullable beside a reference, as OpenAPI writers put it",
    {**obj(a={"allOf": [{"$ref": "#/$defs/A"}], "nullable": True}),
     "$defs": {"A": S}},
    g=obj(a=MAYBE_S), **each("ac", obj(
        a={"allOf": [S], "nullable": True})))
row("a dynamic reference", obj(a={"$dynamicRef": "#node", "title": "t"}),
    **each("gac", obj(a={"title": "t"})))

# --- nullable ---------------------------------------------------------
row("nullable", {"type": "string", "nullable": True})
row("not nullable", {"type": "string", "nullable": False}, g=S)
row("nullable that is no bool", {"type": "string", "nullable": "yes"}, g=S)
row("string or null", {"type": ["string", "null"]}, g=MAYBE_S, c=S)
row("null or string", {"type": ["null", "string"]}, g=MAYBE_S, c=S)
row("only null in a list", {"type": ["null"]}, g=NULL, c=NULL)
row("one type in a list", {"type": ["string"]}, g=S, c=S)
row("two types", {"type": ["integer", "string"]}, g=INT)
row("two types and null", {"type": ["integer", "string", "null"]},
    g={"type": "integer", "nullable": True},
    c={"type": ["integer", "string"]})
row("no type in a list", {"type": []}, g={}, c=NULL)
row("anyOf string, null", {"anyOf": [S, NULL]}, g=MAYBE_S, c=S)
row("oneOf null, string", {"oneOf": [NULL, S]}, g=MAYBE_S, c=S)
row("optional, as pydantic writes it",
    {"anyOf": [INT, NULL], "default": None, "title": "N"},
    g={"type": "integer", "nullable": True, "default": None, "title": "N"},
    c={"type": "integer", "default": None, "title": "N"})
row("const null as the null variant", {"anyOf": [S, {"const": None}]},
    g=MAYBE_S, a={"anyOf": [S, {"enum": [None]}]}, c=S)
row("enum null as the null variant", {"anyOf": [S, {"enum": [None]}]},
    g=MAYBE_S, c=S)
row("nothing but null", {"anyOf": [NULL, {"const": None}]}, g=NULL, c=NULL,
    a={"anyOf": [NULL, {"enum": [None]}]})
row("a nullable reference", {**obj(a={"anyOf": [{"$ref": "#/$defs/A"},
                                               NULL]}), "$defs": {"A": AGE}},
    g=obj(a={"type": "integer", "nullable": True}),
    a=obj(a={"anyOf": [AGE, NULL]}), c=obj(a=AGE))
row("null behind a reference",
    {**obj(a={"anyOf": [S, {"$ref": "#/$defs/Nil"}]}),
     "$defs": {"Nil": NULL}},
    g=obj(a=MAYBE_S), a=obj(a={"anyOf": [S, NULL]}), c=obj(a=S))
row("an enum with null", {"type": ["string", "null"], "enum": ["a", None]},
    g={"type": "string", "nullable": True, "enum": ["a"]},
    c={"type": "string", "enum": ["a", None]})
row("an enum with null without a type", {"enum": ["a", None]},
    g={"type": "string", "nullable": True, "enum": ["a"]})

# --- unions -----------------------------------------------------------
for key in ("anyOf", "oneOf"):
    row(f"{key} of two types", {key: [S, INT]}, g=S)
    row(f"{key} of one", {key: [S], "description": "d"},
        **each("gc", {**S, "description": "d"}))
    row(f"{key} of none", {key: []}, g={})
    row(f"{key} of literals",
        {key: [{"const": "a", "type": "string"},
               {"const": "b", "type": "string"}], "title": "t"},
        a={key: [{"enum": ["a"], "type": "string"},
                 {"enum": ["b"], "type": "string"}], "title": "t"},
        **each("gc", {"type": "string", "enum": ["a", "b"],
                               "title": "t"}))
    row(f"{key} beside a type", {"type": "object", key: [S, INT]}, g=S,
        c={key: [S, INT]})
row("literals and null",
    {"anyOf": [{"const": "a"}, {"const": "b"}, NULL]},
    g={"type": "string", "enum": ["a", "b"], "nullable": True},
    a={"anyOf": [{"enum": ["a"]}, {"enum": ["b"]}, NULL]},
    c={"type": "string", "enum": ["a", "b"]})
row("literals of two types", {"anyOf": [{"enum": ["a"]}, {"enum": [1]}]},
    g={"type": "string", "enum": ["a"]})
row("lists of literals", {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b"]}]},
    **each("gc", {"type": "string", "enum": ["a", "b"]}))
row("a union's own words win",
    {"anyOf": [{**S, "description": "theirs"}, INT], "description": "mine"},
    g={**S, "description": "mine"})
row("a variant's words where there are no others",
    {"anyOf": [{**S, "description": "theirs"}, INT]},
    g={**S, "description": "theirs"})
row("a union in a union", {"anyOf": [{"oneOf": [INT, S]}, B]}, g=INT)
row("a union of objects",
    {"anyOf": [obj(["a"], a=S), obj(["b"], b=INT)]}, g=obj(["a"], a=S))
row("either is required",
    {**obj(a=S, b=S), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    g=obj(a=S, b=S))
row("a union beside properties",
    {**obj(["k"], k=S), "oneOf": [obj(["x"], x=INT), obj(y=INT)]},
    g=obj(["k", "x"], k=S, x=INT),
    c={"properties": {"k": S}, "required": ["k"],
       "oneOf": [obj(["x"], x=INT), obj(y=INT)]})
row("both kinds of union", {"anyOf": [S, INT], "oneOf": [{"title": "t"}]},
    g=S)
row("bounds in variants",
    {"anyOf": [{"type": "string", "minLength": 1},
               {"type": "integer", "minimum": 0}]},
    g=S, a={"anyOf": [S, {"type": "integer", "minimum": 0}]})
row("a union in items", {"type": "array", "items": {"anyOf": [INT, S]}},
    g={"type": "array", "items": INT})
row("anything as a variant", {"anyOf": [True, S]}, g=S)

# --- allOf ------------------------------------------------------------
row("allOf of one reference",
    {**obj(a={"allOf": [{"$ref": "#/$defs/A"}], "description": "d"}),
     "$defs": {"A": S}},
    g=obj(a={**S, "description": "d"}),
    **each("ac", obj(a={"allOf": [S], "description": "d"})))
row("allOf of objects",
    {"allOf": [obj(["a"], a=S), {"properties": {"b": INT},
                                 "required": ["b"]}]},
    g=obj(["a", "b"], a=S, b=INT))
row("allOf beside properties",
    {**obj(["a"], a=S), "allOf": [obj(["b"], b=INT)]},
    g=obj(["a", "b"], a=S, b=INT))
row("allOf with lists that overlap",
    {"allOf": [{"type": "string", "enum": ["a", "b"]},
               {"enum": ["b", "c"]}]}, g={"type": "string", "enum": ["b"]})
row("allOf that gives one property twice",
    {"allOf": [obj(a={"description": "d"}), obj(a=INT)]},
    g=obj(a={"description": "d", "type": "integer"}))

# --- enum and const ---------------------------------------------------
row("const", {"const": "a"}, g={"type": "string", "enum": ["a"]},
    a={"enum": ["a"]}, c={"enum": ["a"]})
row("const beside enum", {"type": "string", "enum": ["a", "b"],
                          "const": "b"},
    **each("gac", {"type": "string", "enum": ["b"]}))
row("const null", {"const": None}, g=NULL, a={"enum": [None]},
    c={"enum": [None]})
row("const integer", {"type": "integer", "const": 5},
    g={"type": "integer", "description": "(one of: 5)"},
    a={"type": "integer", "enum": [5]}, c={"type": "integer", "enum": [5]})
row("const that looks like a schema", {"const": {"minLength": 1}},
    g={"type": "object"}, a={"enum": [{"minLength": 1}]},
    c={"enum": [{"minLength": 1}]})
row("integers", {"type": "integer", "enum": [1, 2], "description": "n"},
    g={"type": "integer", "description": "n (one of: 1, 2)"})
row("integers without a type", {"enum": [0, 8]},
    g={"type": "integer", "description": "(one of: 0, 8)"})
row("booleans", {"enum": [True]},
    g={"type": "boolean", "description": "(one of: true)"})
row("texts without a type", {"enum": ["a"]},
    g={"type": "string", "enum": ["a"]})
row("numbers among texts", {"type": "string", "enum": ["a", 1, "b"]},
    g={"type": "string", "enum": ["a", "b"]})
row("an empty text in a list", {"type": "string", "enum": ["", "a"]},
    g={"type": "string", "enum": ["a"]})
row("a list of nothing", {"type": "string", "enum": []}, g=S)
row("the same text twice", {"type": "string", "enum": ["a", "a"]},
    g={"type": "string", "enum": ["a"]})
row("an enum that is no list", {"type": "string", "enum": "a"}, g=S)

# --- arrays -----------------------------------------------------------
row("a pair of one type", {"type": "array", "items": [N, N]},
    g={"type": "array", "items": N})
row("a pair of two types", {"type": "array", "items": [N, S]}, g=OPEN)
row("prefixItems",
    {"type": "array", "prefixItems": [INT, INT], "items": False},
    g={"type": "array", "items": INT})
row("contains", {"type": "array", "items": S, "contains": {"pattern": "x"}},
    g={"type": "array", "items": S},
    a={"type": "array", "items": S, "contains": {}})
row("items without a type", {"items": S}, g={"type": "array", "items": S})
row("any items", {"type": "array", "items": True}, g=OPEN)

# --- negation and conditions ------------------------------------------
row("not", {"type": "string", "not": {"enum": ["a"]}}, g=S)
row("not with a bound that goes", {"type": "string", "not":
                                   {"pattern": "x"}}, g=S, a=S)
row("if with a bound that goes",
    {**obj(a=S), "if": obj(a={"minLength": 3}), "then": obj(b=S),
     "else": obj(c=S)}, g=obj(a=S), a=obj(a=S))
row("if without", {**obj(a=S), "if": obj(a={"const": "x"}),
                   "then": {"required": ["a"]}},
    g=obj(a=S), **each("ac", {
        **obj(a=S), "if": obj(a={"enum": ["x"]}),
        "then": {"required": ["a"]}}))

# --- required and type ------------------------------------------------
row("required without such a property", obj(["a", "ghost"], a=S),
    g=obj(["a"], a=S))
row("required without properties", {"type": "object", "required": ["a"]},
    g={"type": "object"})
row("required twice", obj(["a", "a"], a=S), g=obj(["a"], a=S))
row("required nothing", {**obj(a=S), "required": []}, g=obj(a=S))
row("required that is no list", {**obj(a=S), "required": True}, g=obj(a=S))
row("properties without a type", {"properties": {"a": S}}, g=obj(a=S))
row("properties on a text", {"type": "string", "properties": {"a": S},
                             "required": ["a"]}, g=S)
row("items on a text", {"type": "string", "items": S}, g=S)
row("an upper-case type", {"type": "STRING"}, g=S)
row("an unknown type", {"type": "File", "title": "t"}, g={"title": "t"})
row("any type", {"type": "any", "title": "t"}, **each(
    "aocg", {"title": "t"}))
row("types of another language", {
    "type": "dict", "properties": {
        "a": {"type": "float"}, "b": {"type": "tuple", "items": {
            "type": "int"}}, "c": {"type": "bool"}, "d": S}},
    **each("aocg", obj(a=N, b={"type": "array", "items": INT}, c=B, d=S)))
row("a type that is no text", {"type": 5}, g={})
row("a description that is no text", {"type": "string", "description": 5},
    g=S)
row("properties that are no object", {"type": "object", "properties": []},
    g={"type": "object"})

# --- booleans in a schema's place -------------------------------------
row("a property that is true", obj(a=True), g=obj(a={}))
row("a property that is false", obj(["a"], a=False, b=S), g=obj(b=S))
row("a property that is no schema", obj(a="string", b=None),
    **each("gaoc", obj(a={}, b={})))

# --- names and data that look like keywords ---------------------------
KEYWORDS = ("type", "properties", "required", "items", "pattern", "$ref",
            "minLength", "anyOf", "oneOf", "allOf", "const", "enum",
            "default", "nullable", "additionalProperties", "definitions",
            "$defs", "not", "if", "$schema", "format", "title", "examples",
            "description", "patternProperties", "prefixItems")
row("properties called like keywords",
    obj(list(KEYWORDS), **dict.fromkeys(KEYWORDS, S)))
for key in KEYWORDS:
    row(f"a property called {key}", obj([key], **{key: obj(**{key: INT})}))
LOOKS = {"$ref": "#/x", "minLength": 1, "anyOf": [NULL], "const": 2,
         "type": ["a", "null"]}
row("a default that looks like a schema",
    {"type": "object", "default": LOOKS})
row("an enum that looks like a schema",
    {"type": "object", "enum": [LOOKS]}, g={"type": "object"})
row("examples that look like schemas",
    {"type": "object", "examples": [LOOKS]}, g={"type": "object"})
row("a definition called like a keyword",
    {**obj(a={"$ref": "#/definitions/pattern"}),
     "definitions": {"pattern": {"type": "string", "pattern": "x"}}},
    g=obj(a=S), a=obj(a=S), c=obj(a={"type": "string", "pattern": "x"}))


@pytest.mark.each("short", list(STRATEGIES))
@pytest.mark.each("name", list(ROWS))
def test_a_schema_comes_out_as_the_table_says(name, short):
    schema, expected = ROWS[name]
    before = copy.deepcopy(schema)
    wanted = before if expected.get(short, SAME) is SAME else expected[short]
    strategy = STRATEGIES[short]

    cleaned = clean_schema(schema, strategy)

    assert cleaned == wanted
    assert schema == before
    assert clean_schema(cleaned, strategy) == cleaned


def test_the_table_has_more_than_125_schemas():
    assert len(ROWS) > 125


@pytest.mark.each("name", list(ROWS))
def test_what_gemini_gets_is_a_schema_of_its_sdk(name):
    types = pytest.importorskip("google.genai.types")
    cleaned = clean_schema(ROWS[name][0], CleaningStrategy.GEMINI)

    types.Schema.model_validate(cleaned)
    types.FunctionDeclaration.model_validate(
        {"name": "f", "parameters": cleaned})
