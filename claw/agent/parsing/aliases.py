"""Other names that models use for tools in the short forms."""

from collections.abc import Collection

_ALIASES = {
    "shell": "bash sh exec command cmd browser browser_open web_search",
    "file_read": "fileread readfile read_file file",
    "file_write": "filewrite writefile write_file",
    "file_edit": "fileedit editfile edit_file",
    "file_list": "filelist listfiles list_files",
    "memory_recall": "memoryrecall recall memrecall",
    "memory_store": "memorystore store memstore",
    "memory_forget": "memoryforget forget memforget",
    "http_request": "http fetch curl wget",
    "message_send": "send_message sendmessage",
}
_TOOL_OF = {alias: tool for tool, aliases in _ALIASES.items()
            for alias in aliases.split()}

_DEFAULT_PARAMETER = {
    "shell": "command", "file_read": "path", "file_write": "path",
    "file_edit": "path", "file_list": "path", "memory_recall": "query",
    "memory_store": "content", "memory_forget": "key",
    "http_request": "url",
}


def is_tool_word(name: str) -> bool:
    """Letters, digits and underscores of ASCII, at least one."""
    return name.isascii() and name.replace("_", "a").isalnum()


def tool_name(word: str, known: Collection[str]) -> str | None:
    """The tool that a word of a short form means; None where it means
    none on offer. A tool's own name beats an alias."""
    if not is_tool_word(word):
        return None
    if word in known:
        return word
    name = _TOOL_OF.get(word.lower(), word)
    return name if not known or name in known else None


def default_parameter(tool: str) -> str:
    """The parameter that a bare value belongs to."""
    return _DEFAULT_PARAMETER.get(tool, "input")


def short_arguments(tool: str, parameter: str,
                    value: str) -> dict[str, object] | None:
    """Arguments of `tool/parameter>value`; None where they make no call.

    A web address for the shell becomes a curl command: models that know
    only a browser write it so.
    """
    if tool == "http_request" and _is_web(value):
        return {"url": value, "method": "GET"}
    if tool == "shell" and (parameter == "url" or _is_web(value)):
        return {"command": f"curl -s '{value}'"} if _is_web(value) else None
    return {parameter: value}


def _is_web(value: str) -> bool:
    """An http(s) address that cannot leave a pair of single quotes."""
    return (value.startswith(("http://", "https://"))
            and "'" not in value and value.isprintable()
            and len(value.split()) == 1)
