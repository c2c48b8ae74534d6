"""How the calls of the model families look, as patterns.

Sources: the chat templates of Hermes, Qwen 2.5 to 3.5, Llama 3 and 4,
Mistral, DeepSeek V3 to V4.1, GLM 4.5 to 5, Kimi K2 and K3, MiniMax M1 to M3,
gpt-oss (Harmony), Gemma 4, Cohere Command, LFM 2, Apertus, InternLM, Granite,
Nemotron, Phi 4, Seed, Step 3, Hunyuan, Solar, GigaChat and Inkling.
Every repetition is bounded or possessive: time stays linear.
"""

import re

_NAME = r"[^\s<>|｜\[\]{}\"'`(),;]{1,128}"
# Some families write their tags in a space of names.
_SPACE = r"(?:[a-z]{1,16}:|｜DSML｜ ?)?"
_FAMILY = (r"(?:(?:(?:[a-z]{1,16}[:_])?(?:tool_calls?|function_calls?)"
           r"|toolcall|tool-call|TOOLCALL|invoke|minimax:toolcall"
           r"|｜DSML｜ ?(?:(?:function_|tool_)?calls))(?::[a-z]{1,16})?)")
_SUFFIX = r"(?::[a-z]{1,16})?"
_ATTRIBUTE = (r"""\s{1,16}name\s{0,16}=\s{0,16}"""
              r"""(?:"([^"<>]{1,200})"|'([^'<>]{1,200})')""")

# A code block, a mark of code; what is in them is shown, not meant.
# A block may stand in a list, in a quotation, or behind a sentence.
CODE_BLOCK = (r"(?:^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,64}+"
              r"(?!```(?:tool|invoke))"
              r"(?P<fence>`{3,16}|~{3,16})[^\n`]{0,200}"
              r"|(?!```(?:tool|invoke))(?P<inner>`{3,16})\w{0,32}"
              r"[ \t]{0,16}\r?)\n")
CODE_MARK = r"``[^\n]+?``|`[^`\n]+`"
# How a line that is quoted begins, and one that is code.
QUOTED = re.compile(r"[ \t]*+>")
INDENT = re.compile(r"(?: {0,3}\t| {4})[ \t]*+")

TAG = rf"<(?P<tag>{_FAMILY}|\|tool_call\|)>"
TOKEN = (r"\[TOOL_CALLS\]|<\|python_(?:tag|start)\|>"
         r"|<｜tool[▁_]calls[▁_]begin｜>"
         r"|<｜tool_call_begin｜>function<｜tool_sep｜>|<\|tool_calls(?:_section_begin)?\|>"
         r"|<\|tool_call(?:_start\|)?>|<start_function_call>"
         r"|<\|START_ACTION\|>|<\|action_start\|>\s?<\|plugin\|>"
         r"|<\|tools_prefix\|>|<\|open\|>tools<\|sep\|>|functools(?=\[\{)"
         r"|(?:<\|message_sep\|>\s{0,8})?function call<\|role_sep\|>"
         r"|<\|function_call\|>|(?:<\|message_model\|>[^<>\n]{0,128})?"
         r"<\|content_invoke_tool_json\|>")
TOOL_FENCE = r"```tool(?=[ \t]{1,16}[A-Za-z0-9_])"
CALL_FENCE = r"```(?:tool_call|toolcall|tool-call|invoke)[ \t]{0,16}\r?\n"
HEAD = (rf"(?i:(?<!\[>\[)<{_SPACE}(?:invoke|function){_ATTRIBUTE}\s{{0,16}}>)"
        r"|<function=([^<>\n]{1,200})>"
        r'|<\|open\|>call tool="([^"<>]{1,200})"[^<>]{0,64}<\|sep\|>')
# A name in marks of its own, with JSON behind it.
NAMED = (
    rf"<｜tool▁call▁begin｜>\s{{0,16}}(?:function\s{{0,4}}<｜tool▁sep｜>)?"
    rf"({_NAME})\s{{0,16}}(?:<｜tool▁sep｜>)?\s{{0,16}}"
    r"(?:```(?:json)?)?\s{0,16}(?=\{)",
    rf"<\|tool_call_begin\|>\s{{0,16}}({_NAME})\s{{0,16}}"
    r"<\|tool_call_argument_begin\|>\s{0,16}(?=\{)",
    r"(?:<\|start\|>(?:assistant)?\s{0,4})?(?:<\|channel\|>\w{1,32}\s{0,4})?"
    rf"\bto=(?:functions\.)?({_NAME})\s{{0,8}}(?:<\|channel\|>\w{{1,32}})?"
    r"\s{0,8}(?:<\|constrain\|>)?\s{0,8}(?:json|code)?\s{0,8}<\|message\|>"
    r"\s{0,16}(?=\{)",
    r"<\|tool_call:begin\|>[\w-]{0,64}<\|tool_call:name\|>"
    rf"({_NAME})<\|tool_call:args\|>\s{{0,16}}(?=\{{)",
    r"```tool[ \t]{1,16}([A-Za-z0-9_\-.]{1,128})[ \t]{0,16}\r?\n"
    r"\s{0,16}(?=[{\[])",
    rf"({_NAME})\s{{0,16}}(?:\[CALL_ID\]([\w-]{{1,64}})\s{{0,16}})?"
    r"\[ARGS\]\s{0,16}(?=\{)")
NUMBER = re.compile(r":\d{1,6}\Z")  # Kimi's: functions.name:0
# Only for names that are known: no mark stands around them.
BARE_NAME = re.compile(
    rf"({_NAME})\s{{0,64}}(?:<tool_sep{_SUFFIX}>\s{{0,16}})?"
    rf"(?=<arg_key{_SUFFIX}>|\{{|</tool_call{_SUFFIX}>)")

# A parameter: its name, and behind it the value.
_PAIR_START = (rf"(?i:<{_SPACE}param(?:eter)?[\s=])|<arg_key{_SUFFIX}>"
               r"|<\|open\|>argument ")
PAIR = re.compile(
    rf"\s{{0,256}}(?:(?i:<{_SPACE}param(?:eter)?{_ATTRIBUTE}[^<>]{{0,200}}>)"
    r"|<parameter=([^<>\n]{1,200})>"
    rf"|<arg_key{_SUFFIX}>([^<>]{{1,200}})</arg_key{_SUFFIX}>"
    rf"\s{{0,256}}<arg_value{_SUFFIX}>"
    r'|<\|open\|>argument key="([^"<>]{1,200})"[^<>]{0,200}<\|sep\|>)')
# What some say of the value: whether it stands there as text.
PAIR_KIND = re.compile(r"""\s(?:string|type)\s{0,4}=\s{0,4}["'](\w{1,16})""")
PAIR_END = (rf"(?i:</{_SPACE}param(?:eter)?\s{{0,16}}>)"
            rf"|</arg_value{_SUFFIX}>|<\|close\|>argument<\|sep\|>")
CALL_END = (rf"(?i:</{_SPACE}(?:invoke|function)\s{{0,16}}>)"
            rf"|</{_FAMILY}>|<\|close\|>call<\|sep\|>")
# The end of a value is the one that a parameter or the call's end follows:
# the value may hold such a tag itself.
PAIR_END_SURE = re.compile(
    rf"(?:{PAIR_END})(?=\s{{0,256}}(?:{_PAIR_START}|{CALL_END}))")
CALL_TAIL = re.compile(rf"\s{{0,256}}(?:{CALL_END})")
CLOSERS = re.compile(
    rf"(?:\s{{0,64}}(?:{CALL_END}|{PAIR_END}"
    r"|<[|｜](?:tool[▁_]calls?[▁_]|tool_calls_section_)end[|｜]>"
    r"|<\|(?:call|eom_id|eot_id|eot|im_end|end|tool_call:end|calls|END_ACTION"
    r"|action_end|tools_suffix|python_end|/tool_call|end_message|message_sep"
    r"|eom)\|>"
    r"|<\|close\|>(?:tools|message)<\|sep\|>|<tool_call\|>"
    r"|<end_function_call>|<｜end▁of▁sentence｜>"
    r"|\[/TOOL_CALLS\]|</s>|```(?=\s|<|\Z)))*+")

# MiniMax M3 puts this before every tag.
MINIMAX_MARK = r"\]<\]minimax\[>\[\s{0,8}"
ARROW = r"\[TOOL_CALL\]|\bTOOL_CALL\b(?=\s{0,16}\{)"
FUNCTION_BLOCK = r"<FunctionCall>"

_CALL_TOKEN = r"<｜tool▁call▁begin｜>|<\|tool_call(?:_|:)begin\|>"
OPENING = re.compile(
    rf"{CALL_FENCE}|{TOOL_FENCE}|(?P<block>{CODE_BLOCK})|(?P<mark>{CODE_MARK})"
    rf"|(?P<arrow>{ARROW})|(?P<function>{FUNCTION_BLOCK})"
    rf"|(?P<minimax>{MINIMAX_MARK}<tool_call>)|{TAG}|{TOKEN}|{HEAD}|{_CALL_TOKEN}"
    r"|(?:<\|start\|>(?:assistant)?\s{0,4})?(?:<\|channel\|>\w{1,32}"
    r"\s{0,4})?\bto=(?=\S[^\n]{0,256}<\|message\|>)",
    re.MULTILINE)
# What arguments may stand behind: marks, or JSON that opens the answer.
LITERAL = re.compile(
    rf"{CALL_FENCE}|{TOOL_FENCE}|{TAG}|{TOKEN}|{HEAD}|{_CALL_TOKEN}"
    rf"|(?P<minimax>{MINIMAX_MARK}<tool_call>)"
    r"|\bto=(?=\S[^\n]{0,256}<\|message\|>)"
    r"|(?P<json>(?:\A|</think>)\s*+(?=[{\[]))")
GAP = re.compile(rf"(?:[\s,;]{{1,256}}|{TAG.replace('?P<tag>', '?:')}|{TOKEN}"
                 r"|(?:<\|start\|>(?:assistant)?\s{0,4})?to=[\w.\-]{1,128}"
                 r"<\|message\|>(?=<atem:)"
                 rf"|{CALL_FENCE}|```(?:json|xml)?[ \t]{{0,16}}\r?\n)"
                 r"{0,8}+")
HEAD_AT = re.compile(HEAD)
NAMED_AT = tuple(re.compile(pattern) for pattern in NAMED)
# The name in the JSON of a call, or Apertus' list.
JSON_NAME = re.compile(r'"(?:tool_)?name"\s{0,16}:\s{0,16}"([^"\n]{1,128})"'
                       r'|\A(?=\[\s{0,16}\{\s{0,16}"([^"\n]{1,128})"\s{0,16}:)')
MINIMAX_NAME = re.compile(MINIMAX_MARK + r"<tool_call>\s{0,16}" + MINIMAX_MARK
                          + r'<invoke name="([^"<>]{1,128})"')
# DeepSeek's marks as some servers write them.
HALF_WIDE = re.compile(r"<\|(tool▁[a-z▁]{1,16})\|>")
LEFTOVER = re.compile(
    rf"</?(?:{_FAMILY}|arg_key|arg_value)>|</?｜DSML｜[^<>]{{0,64}}>"
    r"|<\|(?:open|close)\|>\w{1,16}<\|sep\|>|</?tool_call\|>"
    r"|<[|｜]/?[\w▁:]{1,40}[|｜]>|\[/?TOOL_CALLS?\]|```(?:xml|json)?\s*\Z",
    re.IGNORECASE)
CLOSING = re.compile(rf"</{_FAMILY}>")
# What a call looks like behind its tag.
CALL_LIKE = re.compile(r"[{\[]|<(?:arg_key|function|invoke|parameter)|to=")
ONE_FENCE = re.compile(r"```(?:xml|json|text|plaintext)?[ \t]{0,16}\n"
                       r"((?:(?!```)[\s\S])*+)```\Z")
