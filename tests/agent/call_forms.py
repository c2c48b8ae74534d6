"""Tools, calls of them, and the forms that model families write calls in."""

import json
import random

TEXTS = (
    "Oslo", "", "5", "true", "null and void", 'say "hi"', "it's", "a\nb\n",
    "<b>bold</b> & <i/>", "</parameter> ends", "</tool_call>", "```py\nx\n```",
    "{not json", '{"a": 1}', "[1, 2]", "C:\\new\\table", "한국어 日本語 中文",
    "🦀 ﷽", "  spaced  ", "a=b; c, d", "`code`", "name>value", "to=functions",
    "x" * 300, "100%", "--flag", "\ttab", "end]", "a</arg_value>b")
VALUES = {
    "string": lambda r: r.choice(TEXTS),
    "integer": lambda r: r.choice((0, 5, -17, 10**18)),
    "number": lambda r: r.choice((0.5, -1e-7, 3, 2.5e300)),
    "boolean": lambda r: r.random() < 0.5,
    "array": lambda r: r.choice(([], [1, "2", None], [{"a": [True]}],
                                 list(TEXTS[:8]))),
    "object": lambda r: r.choice(({}, {"k": "v", "n": 1.5, "x": None},
                                  {"a": {"b": ["</c>", "한"]}})),
    "null": lambda r: None,
}
# Types of schemas that follow no standard.
ODD = {"object": "dict", "number": "float", "array": "tuple"}
NAMES = ("get_weather", "math.factorial", "file-read", "날씨", "f")


def build_entry(seed):
    """(tools with their schemas, calls) of one seed."""
    r = random.Random(seed)
    tools, calls = {}, []
    for name in r.sample(NAMES, r.randint(1, 3)):
        properties = {}
        arguments = {}
        for number in range(r.randint(0, 5)):
            key = r.choice(("city", "max_n", "größe", "x-y")) + str(number)
            kind = r.choice(tuple(VALUES))
            named = ODD.get(kind, kind) if r.random() < 0.3 else kind
            properties[key] = {"type": named}
            arguments[key] = VALUES[kind](r)
            if kind == "string" and r.random() < 0.1:
                arguments[key] = None
        tools[name] = {"type": "object", "properties": properties}
        calls.append((name, arguments))
    return tools, calls


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def plain(value):
    return value if isinstance(value, str) else dump(value)


def each(form, between="\n"):
    return lambda calls: between.join(form(n, a) for n, a in calls)


def elements(head, tail, pair):
    return each(lambda n, a: head.format(n) + "".join(
        pair.format(k, plain(v)) for k, v in a.items()) + tail)


def typed_elements(head, tail, pair):
    """Elements that say of a value whether it is text."""
    return each(lambda n, a: head.format(n) + "".join(pair.format(
        k, str(isinstance(v, str)).lower(), plain(v))
        for k, v in a.items()) + tail)


def tag(name, **fields):
    return f"<tool_call>\n{dump({'name': name, **fields})}\n</tool_call>"


def function(name, arguments):
    return {"id": "c1", "type": "function", "function": {
        "name": name, "arguments": dump(arguments)}}


M3 = "]<]minimax[>["


def m3_element(key, value):
    """Elements in elements; JSON where a text in them could be a number."""
    if isinstance(value, (list, dict)) and value and '"2"' not in dump(value) \
            and '"5"' not in dump(value):
        items = value.items() if isinstance(value, dict) else [
            ("item", each) for each in value]
        inside = "".join(m3_element(*item) for item in items)
    else:
        inside = plain(value)
    return f"{M3}<{key}>{inside}{M3}</{key}>"


def code(calls):
    return ", ".join(f"{n}(" + ", ".join(
        f"{k}={v!r}" for k, v in a.items()) + ")" for n, a in calls)


def gemma(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{k}:{gemma(v)}" for k, v in sorted(
            value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(gemma, value)) + "]"
    return f'<|"|>{value}<|"|>' if isinstance(value, str) else dump(value)


FORMS = {
    "hermes": each(lambda n, a: tag(n, arguments=a)),
    "parameters": each(lambda n, a: tag(n, parameters=a)),
    "json text": each(lambda n, a: tag(n, arguments=dump(a))),
    "input": each(lambda n, a: tag(n, input=a)),
    "function object": each(
        lambda n, a: f"<tool_call>{dump(function(n, a))}</tool_call>"),
    "list in a tag": lambda calls: "<tool_call>" + dump(
        [function(n, a) for n, a in calls]) + "</tool_call>",
    "one tag": lambda calls: "<tool_call>\n" + each(
        lambda n, a: dump({"name": n, "arguments": a}))(calls)
    + "\n</tool_call>",
    "not closed": lambda calls: "<tool_call>" + each(
        lambda n, a: dump({"name": n, "arguments": a}))(calls),
    "whole": lambda calls: dump(
        {"content": None, "tool_calls": [function(n, a) for n, a in calls]}),
    "llama": each(lambda n, a: dump({"name": n, "parameters": a}), "; "),
    "llama token": lambda calls: "<|python_tag|>" + each(
        lambda n, a: dump({"name": n, "parameters": a}), "; ")(calls)
    + "<|eom_id|>",
    "llama function": each(
        lambda n, a: f"<function={n}>{dump(a)}</function>"),
    "mistral": lambda calls: "[TOOL_CALLS]" + dump(
        [{"name": n, "arguments": a, "id": "abcdefghi"} for n, a in calls])
    + "</s>",
    "mistral 3": each(
        lambda n, a: f"[TOOL_CALLS]{n}[ARGS]{dump(a)}", ""),
    "deepseek": lambda calls: "<｜tool▁calls▁begin｜>" + each(
        lambda n, a: f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{n}\n"
        f"```json\n{dump(a)}\n```<｜tool▁call▁end｜>")(calls)
    + "<｜tool▁calls▁end｜>",
    "deepseek 3.1": lambda calls: "<｜tool▁calls▁begin｜>" + each(
        lambda n, a: f"<｜tool▁call▁begin｜>{n}<｜tool▁sep｜>{dump(a)}"
        "<｜tool▁call▁end｜>", "")(calls) + "<｜tool▁calls▁end｜>",
    "kimi": lambda calls: "<|tool_calls_section_begin|>" + "".join(
        f"<|tool_call_begin|>functions.{n}:{i}<|tool_call_argument_begin|>"
        f"{dump(a)}<|tool_call_end|>" for i, (n, a) in enumerate(calls))
    + "<|tool_calls_section_end|>",
    "harmony": each(
        lambda n, a: f"<|start|>assistant<|channel|>commentary to=functions."
        f"{n} <|constrain|>json<|message|>{dump(a)}<|call|>", ""),
    "glm": elements(
        "<tool_call>{}\n", "</tool_call>",
        "<arg_key>{}</arg_key>\n<arg_value>{}</arg_value>\n"),
    "qwen coder": elements(
        "<tool_call>\n<function={}>\n", "</function>\n</tool_call>",
        "<parameter={}>\n{}\n</parameter>\n"),
    "invoke": elements(
        '<function_calls>\n<invoke name="{}">\n',
        "</invoke>\n</function_calls>",
        '<parameter name="{}">{}</parameter>\n'),
    "minimax": elements(
        '<minimax:tool_call>\n<invoke name="{}">\n',
        "</invoke>\n</minimax:tool_call>",
        '<parameter name="{}">{}</parameter>\n'),
    "deepseek 3.2": typed_elements(
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="{}">\n',
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        '<｜DSML｜parameter name="{}" string="{}">{}</｜DSML｜parameter>\n'),
    "deepseek 4.1": typed_elements(
        '<｜DSML｜ calls>\n<｜DSML｜ invoke name="{}">\n',
        "</｜DSML｜ invoke>\n</｜DSML｜ calls>",
        '<｜DSML｜ parameter name="{}" string="{}">{}</｜DSML｜ parameter>\n'),
    "kimi 3": lambda calls: "<|open|>tools<|sep|>" + typed_elements(
        '<|open|>call tool="{}" index="1"<|sep|>', "<|close|>call<|sep|>",
        '<|open|>argument key="{}" string="{}"<|sep|>{}'
        "<|close|>argument<|sep|>")(calls) + "<|close|>tools<|sep|>",
    "minimax 3": lambda calls: M3 + "<tool_call>\n" + each(
        lambda n, a: f'{M3}<invoke name="{n}">' + "".join(
            m3_element(k, v) for k, v in a.items()) + f"{M3}</invoke>")(calls)
    + f"\n{M3}</tool_call>",
    "python": lambda calls: f"[{code(calls)}]",
    "lfm": lambda calls: f"<|tool_call_start|>[{code(calls)}]"
    "<|tool_call_end|>",
    "olmo": lambda calls: "<function_calls>\n" + "\n".join(
        code([call]) for call in calls) + "\n</function_calls>",
    "gemma": each(lambda n, a: f"<|tool_call>call:{n}{gemma(a)}<tool_call|>",
                  ""),
    "cohere": lambda calls: "<|START_ACTION|>" + dump([
        {"tool_call_id": str(i), "tool_name": n, "parameters": a}
        for i, (n, a) in enumerate(calls)]) + "<|END_ACTION|>",
    "apertus": lambda calls: "<|tools_prefix|>" + dump(
        [{n: a} for n, a in calls]) + "<|tools_suffix|>",
    "internlm": each(lambda n, a: "<|action_start|><|plugin|>\n" + dump(
        {"name": n, "parameters": a}) + "<|action_end|>", ""),
    "nemotron": lambda calls: "<TOOLCALL>" + dump(
        [{"name": n, "arguments": a} for n, a in calls]) + "</TOOLCALL>",
    "granite": lambda calls: "<|tool_call|>" + dump(
        [{"name": n, "arguments": a} for n, a in calls]),
    "phi": lambda calls: "functools" + dump(
        [{"name": n, "arguments": a} for n, a in calls]),
    "phi tag": lambda calls: "<|tool_call|>" + dump(
        [{"name": n, "arguments": a} for n, a in calls]) + "<|/tool_call|>",
    "longcat": each(lambda n, a: "<longcat_tool_call>\n" + dump(
        {"name": n, "arguments": a}) + "\n</longcat_tool_call>"),
    "seed": elements("<seed:tool_call>\n<function={}>\n",
                     "</function>\n</seed:tool_call>",
                     "<parameter={}>{}</parameter>\n"),
    "step": lambda calls: "<｜tool_calls_begin｜>" + elements(
        "<｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="{}">',
        "</steptml:invoke><｜tool_call_end｜>",
        '<steptml:parameter name="{}">{}</steptml:parameter>')(calls)
    + "<｜tool_calls_end｜>",
    "hunyuan": lambda calls: "<tool_calls:opensource>\n" + elements(
        "<tool_call:opensource>{}<tool_sep:opensource>\n",
        "</tool_call:opensource>",
        "<arg_key:opensource>{}</arg_key:opensource>\n<arg_value:opensource>"
        "{}</arg_value:opensource>\n")(calls) + "\n</tool_calls:opensource>",
    "solar": lambda calls: "<|tool_calls|>" + each(
        lambda n, a: f"<|tool_call:begin|>c1<|tool_call:name|>{n}"
        f"<|tool_call:args|>{dump(a)}<|tool_call:end|>", "")(calls)
    + "<|calls|>",
    "gigachat": each(lambda n, a: "function call<|role_sep|>\n" + dump(
        {"name": n, "arguments": a}) + "<|message_sep|>"),
    "inkling": each(
        lambda n, a: f"<|message_model|>{n}<|content_invoke_tool_json|>"
        f"{dump({'name': n, 'args': a})}<|end_message|>", ""),
    "call fence": each(lambda n, a: "```tool_call\n" + dump(
        {"name": n, "arguments": a}) + "\n```"),
}
# No text stands beside these.
WHOLE = ("whole", "llama", "python")
