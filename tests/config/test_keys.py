"""Dotted names, and which of them hold secrets."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claw.config.keys import is_secret, join_key, split_key
from claw.core.errors import UsageError


@pytest.mark.parametrize(("dotted", "path"), [
    ("", ()),
    ("memory", ("memory",)),
    ("memory.backend", ("memory", "backend")),
    ('model_providers."my.host".name', ("model_providers", "my.host",
                                        "name")),
    ("'a b'.c", ("a b", "c")),
    ("'a\\\\'.c", ("a\\\\", "c")),
    (r'"a\"b\u00e9\\".c', ('a"bé\\', "c")),
    (' a . "b" . c ', ("a", "b", "c")),
    ("model_routes.0.hint", ("model_routes", "0", "hint")),
    ("swarms.한국어.agents", ("swarms", "한국어", "agents")),
])
def test_split(dotted, path):
    assert split_key(dotted) == path


@pytest.mark.parametrize("dotted", [".", "a.", ".a", "a..b", '"a', 'a."b"c',
                                    'a.""'])
def test_broken_names_are_usage_errors(dotted):
    with pytest.raises(UsageError):
        split_key(dotted)


@given(st.lists(st.text(min_size=1), min_size=1))
def test_join_and_split_are_inverse(parts):
    assert split_key(join_key(parts)) == tuple(parts)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_joined_key_is_toml(part):
    assert tomllib.loads(f"{join_key([part])} = 1") == {part: 1}


@pytest.mark.parametrize(("dotted", "secret"), [
    ("api_key", True),
    ("web_search.brave_api_key", True),
    ("reliability.api_keys.0", True),
    ("gateway.paired_tokens", True),
    ("channels_config.telegram.bot_token", True),
    ("channels_config.email.password", True),
    ("channels_config.nostr.private_key", True),
    ("channels_config.wecom.webhook_key", True),
    ("channels_config.lark.encrypt_key", True),
    ("channels_config.irc.nickserv_password", True),
    ("storage.provider.config.db_url", True),
    ("mcp.servers.0.env.GITHUB_TOKEN", True),
    ("mcp.servers.0.headers.Authorization", True),
    ("extra_headers.X-Api-Key", True),
    ("agent.max_context_tokens", False),
    ("security.otp.token_ttl_secs", False),
    ("web_fetch.firecrawl.api_key_env", False),
    ("memory.default_namespace", False),
    ("", False),
])
def test_secrets_are_known_by_name(dotted, secret):
    assert is_secret(split_key(dotted)) is secret
