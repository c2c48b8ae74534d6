"""A vendor's own options: read, refused, and put in a body."""

import pytest

from claw.core.errors import UsageError
from claw.providers.wire.options import (
    add_options,
    parse_options,
    put_below,
    require_unpaid,
)


def test_a_value_is_json_where_it_can_be():
    assert parse_options(["a=1", "b=true", 'c=["x"]', "d=x=y", "e=NaN"]) == {
        "a": 1, "b": True, "c": ["x"], "d": "x=y", "e": "NaN"}


@pytest.mark.each("given", [
    ["model=x"], ["messages=[]"], ["stream=true"], ["maxOutputTokens=9"],
    ["n=5"], ["service_tier=priority"], ["nothing"], ["=x"], ["a=1", "a=2"],
    ['generationConfig={"max_output_tokens": 9}'],
    ['options={"num_predict": 9}']])
def test_what_claw_says_itself_is_refused(given):
    with pytest.raises(UsageError):
        parse_options(given)


def test_tables_become_one():
    assert add_options({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}) == {
        "a": {"x": 1, "y": 2}, "b": 1}
    assert put_below({"top_k": 5, "keep_alive": "1h",
                      "options": {"seed": 1}}, "options",
                     ("keep_alive",)) == {
        "keep_alive": "1h", "options": {"top_k": 5, "seed": 1}}


@pytest.mark.each("given", [
    'models=["dear/model"]', "route=fallback", "preset=@preset/x",
    'plugins=[{"id": "web"}]', "web_search_options={}",
    "search_parameters={}", "enable_search=true", "mcp_servers=[]",
    "previous_response_id=r", "conversation=c", "modalities=audio",
    'generationConfig={"responseModalities": ["IMAGE"]}'])
def test_what_changes_the_model_or_costs_more_is_refused(given):
    with pytest.raises(UsageError):
        parse_options([given])


@pytest.mark.each("given", [
    'provider={"sort": "throughput"}', "prediction={}", "top_k_web=1",
    "service_tier=auto", "include=[]", "thinking={}",
    'options={"num_ctx": 5, "x": 1}'])
def test_under_a_budget_only_options_known_to_cost_nothing_pass(given):
    with pytest.raises(UsageError, match="is not known"):
        require_unpaid(parse_options([given]))


def test_options_that_choose_words_pass_under_a_budget():
    require_unpaid(parse_options([
        "top_p=0.9", "topK=4", "stop=x", 'options={"num_ctx": 5}']))
