"""Rules across keys: a row per rule, broken and kept."""

import pytest

from claw.config.validate import findings

BACKENDS = ("sqlite", "none")


@pytest.mark.parametrize(("text", "key", "message"), [
    ("default_temperature = 2.5", "default_temperature", "from 0 to 2"),
    ("provider_timeout_secs = 0", "provider_timeout_secs", "1 or more"),
    ("[gateway]\nhost = ' '", "gateway.host", "blank"),
    ("[gateway]\nport = 0", "gateway.port", "from 1 to 65535"),
    ("[gateway]\npath_prefix = 'claw'", "gateway.path_prefix", 'start'),
    ("[gateway]\npath_prefix = '/claw/'", "gateway.path_prefix", 'end'),
    ("[autonomy]\nmax_actions_per_hour = 0",
     "autonomy.max_actions_per_hour", "1 or more"),
    ("[autonomy]\nshell_env_passthrough = ['OK', '1A']",
     "autonomy.shell_env_passthrough.1", "'1A'"),
    ("[security.otp]\ntoken_ttl_secs = 0", "security.otp.token_ttl_secs",
     "1 or more"),
    ("[security.otp]\ncache_valid_secs = 10",
     "security.otp.cache_valid_secs", "at least token_ttl_secs (30)"),
    ("[security.otp]\ngated_actions = ['rm -rf']",
     "security.otp.gated_actions.0", "action"),
    ("[security.otp]\ngated_domains = ['bank.com', 'http://x']",
     "security.otp.gated_domains.1", "domain"),
    ("[security.estop]\nstate_file = ''", "security.estop.state_file",
     "blank"),
    ("[scheduler]\nmax_concurrent = 0", "scheduler.max_concurrent",
     "1 or more"),
    ("[scheduler]\nmax_tasks = 0", "scheduler.max_tasks", "1 or more"),
    ("[[model_routes]]\nhint = 'a'\nprovider = 'p'", "model_routes.0.model",
     "missing"),
    ("[[embedding_routes]]\nhint = ' '\nprovider = 'p'\nmodel = 'm'",
     "embedding_routes.0.hint", "blank"),
    ("[model_providers.x]", "model_providers.x", "name or a base_url"),
    ("[model_providers.x]\nbase_url = 'localhost:1'",
     "model_providers.x.base_url", "http://"),
    ("[model_providers.x]\nname = 'x'\nwire_api = 'soap'",
     "model_providers.x.wire_api", "chat_completions"),
    ("default_provider = 'ollama'\ndefault_model = 'q:cloud'",
     "default_model", "cloud"),
    ("[[mcp.servers]]\ncommand = 'c'", "mcp.servers.0.name", "missing"),
    ("[[mcp.servers]]\nname = 'a'\ncommand = 'c'\n"
     "[[mcp.servers]]\nname = 'A'\ncommand = 'c'",
     "mcp.servers.1.name", "twice"),
    ("[[mcp.servers]]\nname = 'a'", "mcp.servers.0.command", "missing"),
    ("[[mcp.servers]]\nname = 'a'\ntransport = 'sse'",
     "mcp.servers.0.url", "(transport sse)"),
    ("[agents.a]\nagentic = true", "agents.a.agentic", "no tool to use"),
    ("[[embedding_routes]]\nhint = 'a'\nmodel = 'b'",
     "embedding_routes.0.provider", "missing"),
    ("[[mcp.servers]]\nname = 'a'\ntransport = 'http'\nurl = 'x'",
     "mcp.servers.0.url", "http://"),
    ("[[mcp.servers]]\nname = 'a'\ncommand = 'c'\ntool_timeout_secs = 601",
     "mcp.servers.0.tool_timeout_secs", "1 to 600"),
    ("[transcription]\ndefault_provider = 'ears'",
     "transcription.default_provider", "unknown"),
    ("[memory]\nvector_weight = -1", "memory.vector_weight", "0 or more"),
    ("[memory]\nvector_weight = 0\nkeyword_weight = 0",
     "memory.keyword_weight", "both 0"),
    ("[memory]\nmin_relevance_score = 1.2", "memory.min_relevance_score",
     "from 0 to 1"),
    ("[memory]\nembedding_provider = 'openai'\nembedding_dimensions = 0",
     "memory.embedding_dimensions", "1 or more"),
    ("[memory]\nbackend = 'sqlit'", "memory.backend", "'sqlit'"),
    ("[storage.provider.config]\nprovider = 'pg'",
     "storage.provider.config.provider", "'pg'"),
])
def test_a_broken_rule_is_found_with_its_line(tree_of, text, key, message):
    tree = tree_of(text)
    found = [f for f in findings(tree, BACKENDS) if f.key == key]

    assert len(found) == 1
    assert message in found[0].message
    assert found[0].line == tree.line(key) is not None
    assert found[0].level == "error"
    assert found[0].text.startswith(f"config.toml:{found[0].line}: {key}: ")


@pytest.mark.parametrize("text", [
    "",
    "[gateway]\npath_prefix = '/claw'\nport = 65535",
    "[memory]\nvector_weight = 0\nkeyword_weight = 1\nbackend = ' SQLite '",
    "[memory]\nembedding_dimensions = 0",
    "[security.otp]\ntoken_ttl_secs = 60\ngated_domains = ['*.bank.com']",
    "[model_providers.x]\nname = 'openai'",
    "default_provider = 'ollama'\ndefault_model = 'q:cloud'\n"
    "api_url = 'https://ollama.com'\napi_key = 'k'",
    "[[mcp.servers]]\nname = 'a'\ntransport = 'sse'\nurl = 'https://x/y'",
    # wrong types are the decoder's business
    "memory = 3\ngateway = 'x'\nmodel_routes = 5\ndefault_temperature = 'a'",
    "[mcp]\nservers = [1, 'a']\n[agents]\nx = 3",
])
def test_nothing_to_find(tree_of, text):
    assert findings(tree_of(text), BACKENDS) == []
