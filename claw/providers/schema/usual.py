"""Anthropic, OpenAI and providers nobody knows: JSON Schema, less a few
keywords.

OpenAI keeps everything. Anthropic loses minLength and pattern and has
references inlined. For an unknown provider references are inlined,
additionalProperties goes, and null is taken out of types and unions.
"""

from typing import Any

from claw.core.value import Value
from claw.providers.schema.tree import (
    META,
    Refs,
    Schema,
    TooLargeError,
    Walker,
    one_kind,
    only_null,
    pick,
)

_DEFINITIONS = frozenset({"$defs", "definitions"})
# These point at definitions that are gone once everything is inlined.
_DANGLING = frozenset({"$dynamicRef", "$recursiveRef"})


class Rules(Value):
    """What a strategy takes out.

    `inlined`: references give way to what they name, `const` to `enum`;
    `bare`: null leaves types and unions.
    """

    dropped: frozenset[str] = frozenset()
    inlined: bool = True
    bare: bool = False


ANTHROPIC = Rules(frozenset({"minLength", "pattern"}))
OPENAI = Rules(inlined=False)
# unevaluatedProperties would forbid what additionalProperties allowed.
CONSERVATIVE = Rules(
    frozenset({"additionalProperties", "unevaluatedProperties"}), bare=True)


class Usual(Walker):
    """One pass by the rules of a strategy."""

    def __init__(self, root: object, rules: Rules) -> None:
        super().__init__(root)
        self._rules = rules

    def _object(self, value: Schema, depth: int, refs: Refs) -> Schema:
        if self._rules.inlined:
            value, refs = self.resolve(value, refs)
        if "const" in value and "enum" in value and self._rules.inlined:
            self.losses += 1  # the one value says more than the list
            value = {key: value[key] for key in value if key != "enum"}
        result: Schema = {}
        for key, held in value.items():
            self._keyword(result, key, held, depth, refs)
        if "if" in value and "if" not in result:
            result.pop("then", None)
            result.pop("else", None)
        return self._bare(result) if self._rules.bare else result

    def _keyword(self, result: Schema, key: str, held: Any, depth: int,
                 refs: Refs) -> None:
        rules, losses = self._rules, self.losses
        if key in rules.dropped or (rules.inlined and key in _DANGLING):
            self.losses += 1
            return
        if rules.inlined and key in _DEFINITIONS:
            return
        try:
            held = self.below(key, held, depth, refs)
        except TooLargeError:
            self.losses += 1
            return
        if key in ("not", "if") and self.losses != losses:
            return  # what asks for less inside forbids more outside
        if rules.inlined and key == "const":
            key, held = "enum", [held]
        result[key] = held

    def _bare(self, result: Schema) -> Schema:
        kinds = result.get("type")
        if isinstance(kinds, list):
            left = [kind for kind in kinds if kind != "null"]
            result["type"] = left if len(left) > 1 else \
                (left or ["null"])[0]
        for key in ("anyOf", "oneOf"):
            if isinstance(result.get(key), list) and result[key]:
                self.losses += "type" in result
                result = _union(result, key)
        return result


def _union(value: Schema, key: str) -> Schema:
    """A union without null: one variant stands for itself, literals of one
    type are a list of values. Beside more than a type and a description it
    stays a union, since its neighbours count as well."""
    variants = [each for each in value[key] if not only_null(each)]
    meta = pick(value, META)
    alone = set(value) <= {key, "type", *META}
    if not variants:
        return {"type": "null", **meta} if alone else value
    if alone and len(variants) == 1 and isinstance(variants[0], dict):
        return {**variants[0], **meta}
    same = one_kind([each for each in variants if isinstance(each, dict)])
    if alone and same and all(isinstance(each, dict) for each in variants):
        return {"type": same[0], "enum": same[1], **meta}
    result = {**value, key: variants}
    if all(isinstance(each, dict) and "type" in each for each in variants):
        result.pop("type", None)
    return result
