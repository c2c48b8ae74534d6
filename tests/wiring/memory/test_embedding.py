"""Settings -> embedder: names, routes, keys, lengths."""

import pytest

from claw.config.places import locate
from claw.config.tree import load
from claw.core.embedding import EmbeddingProvider
from claw.core.errors import AuthError, ConfigError, UnavailableError
from claw.memory import embeddings
from claw.memory.embeddings.local import LocalEmbedder
from claw.net.lean import httpx
from claw.wiring.memory.embedding import build_embedder

OPENAI = "sk-proj-of-openai-123456"
OPENROUTER = "sk-or-v1-of-openrouter-123456"
# Keys of everything else: none of them may ever be sent.
STRANGERS = {"CLAW_API_KEY": "sk-strange-1", "ZEROCLAW_API_KEY": "sk-strange",
             "API_KEY": "sk-strange-2", "GEMINI_API_KEY": "AIzaStrange3",
             "ANTHROPIC_API_KEY": "sk-ant-strange-4"}
ROUTES = """
[[embedding_routes]]
hint = "work"
provider = "custom:https://vectors.test/v1"
model = "bge-m3"
dimensions = 3
api_key = "key-of-the-route"

[[embedding_routes]]
hint = "again"
provider = "openai"
model = "text-embedding-3-large"

[[embedding_routes]]
hint = "empty"
provider = "openai"
model = " "

[[embedding_routes]]
hint = "flat"
provider = "openai"
model = "m"
dimensions = 0
"""


class Asked:
    """What one request looked like."""

    def __init__(self, tree, env, **more):
        self.request = None
        embedder = build_embedder(tree, env={**STRANGERS, **env},
                               transport=httpx.MockTransport(self._handle),
                               **more)
        self.embedder = embedder
        with pytest.raises(UnavailableError, match="no vectors here"):
            embedder.embed(["a"])
        self.url = str(self.request.url)
        self.key = self.request.headers.get("authorization")

    def _handle(self, request):
        self.request = request
        return httpx.Response(404, json={"error": "no vectors here"})


@pytest.fixture
def tree(tmp_path):
    """tree("[memory]..."): the settings of such a file."""
    def made(text):
        places = locate(str(tmp_path / "home"), env={})
        places.home.mkdir(exist_ok=True)
        places.config_file.write_text(text)
        places.config_file.chmod(0o600)
        return load(places, {})
    return made


def memory(provider, **more):
    rows = [f'embedding_provider = "{provider}"']
    rows += [f'embedding_{name} = {value!r}' for name, value in more.items()]
    return "\n".join(["[memory]", *rows, ""])


@pytest.mark.parametrize("text", [
    "", memory(""), memory("none"), memory(" None "), memory("noop")])
def test_none_is_none(tree, text):
    assert build_embedder(tree(text), env={}) is None


def test_openai_is_asked_with_its_own_key(tree):
    asked = Asked(tree(memory("openai")), {"OPENAI_API_KEY": OPENAI})

    assert asked.url == "https://api.openai.com/v1/embeddings"
    assert asked.key == f"Bearer {OPENAI}"
    assert b'"model":"text-embedding-3-small"' in asked.request.content
    assert asked.embedder.model == ("https://api.openai.com/v1/embeddings|"
                                    "text-embedding-3-small|1536")
    assert asked.embedder.is_multilingual


def test_openrouter_is_asked_with_its_own_key(tree):
    asked = Asked(tree(memory("OpenRouter")),
                  {"OPENROUTER_API_KEY": OPENROUTER,
                   "OPENAI_API_KEY": OPENAI})

    assert asked.url == "https://openrouter.ai/api/v1/embeddings"
    assert asked.key == f"Bearer {OPENROUTER}"
    assert b'"model":"openai/text-embedding-3-small"' \
        in asked.request.content


def test_a_server_of_ones_own_gets_no_key_but_its_own(tree):
    env = {"OPENAI_API_KEY": OPENAI, "OPENROUTER_API_KEY": OPENROUTER}
    bare = Asked(tree(memory("custom:http://H.test:11434/V1", model="bge",
                             dimensions=3)), env)
    own = Asked(tree(memory("custom:http://h.test", model="bge",
                            dimensions=3, api_key="mine")), env)

    assert (bare.url, bare.key) == ("http://h.test:11434/V1/embeddings",
                                    None)
    assert (own.url, own.key) == ("http://h.test/v1/embeddings",
                                  "Bearer mine")
    assert not bare.embedder.is_multilingual


def test_the_key_of_the_settings_goes_before_the_environment(tree):
    asked = Asked(tree(memory("openai", api_key="sk-of-the-file")),
                  {"OPENAI_API_KEY": OPENAI})

    assert asked.key == "Bearer sk-of-the-file"


@pytest.mark.parametrize("provider", ["openai", "openrouter"])
def test_no_other_vendors_key_is_ever_taken(tree, provider):
    others = {**STRANGERS, "GROQ_API_KEY": "gsk_x", "COHERE_API_KEY": "c"}
    embedder = build_embedder(tree(
        'api_key = "sk-of-the-chat"\n' + memory(provider)), env=others)

    with pytest.raises(AuthError, match="no key for embeddings") as caught:
        embedder.embed(["a"])
    assert f"{provider.upper()}_API_KEY" in caught.value.hint


def test_a_key_of_the_wrong_vendor_is_not_sent(tree):
    embedder = build_embedder(tree(memory("openai", api_key=OPENROUTER)),
                           env={})

    with pytest.raises(AuthError, match="looks like one of openrouter"):
        embedder.embed(["a"])


@pytest.mark.parametrize("key", ["enc2:00ff", "enc:00ff"])
def test_a_sealed_key_is_never_sent(tree, key):
    embedder = build_embedder(tree(memory("openai")),
                           env={"OPENAI_API_KEY": key})

    with pytest.raises(ConfigError, match="still encrypted") as caught:
        embedder.embed(["a"])
    assert key not in caught.value.message


def test_the_address_of_the_environment_goes_with_its_key_only(tree):
    env = {"OPENAI_API_KEY": OPENAI, "OPENAI_BASE_URL": "http://p.test/v9"}
    theirs = Asked(tree(memory("openai")), env)
    ours = Asked(tree(memory("openai", api_key="sk-of-the-file")), env)

    assert (theirs.url, theirs.key) == ("http://p.test/v9/embeddings",
                                        f"Bearer {OPENAI}")
    assert ours.url == "https://api.openai.com/v1/embeddings"


@pytest.mark.parametrize(("name", "hint"), [
    ("opnai", 'did you mean "openai"?'),
    ("locl", 'did you mean "local"?'),
    ("nonee", 'did you mean "none"?'),
    ("cohere", "custom:https://api.cohere.ai/compatibility/v1"),
    ("ollama", "custom:http://localhost:11434/v1"),
    ("http://h/v1", "did you mean custom:http://h/v1?"),
    ("zzz", "one of: none, local, openai, openrouter, custom:URL"),
    ("local:small", 'did you mean "local"?'),
    ("http://mina:pw@h/", "did you mean custom:http://h/?"),
])
def test_an_unknown_name_falls_to_words_and_says_so(tree, name, hint):
    said = []

    assert build_embedder(tree(memory(name)), env={},
                          notify=said.append) is None
    assert hint in said[0]
    assert "found by words" in said[0]
    assert "pw" not in said[0]


@pytest.mark.parametrize("name", ["custom", "custom:"])
def test_an_address_that_lacks_is_an_error(tree, name):
    with pytest.raises(ConfigError) as caught:
        build_embedder(tree(memory(name)), env={})
    assert "e.g. custom:http://localhost:11434/v1" in caught.value.hint


@pytest.mark.parametrize(("text", "words"), [
    (memory("custom:ftp://h/"), "is no address"),
    (memory("custom:http://"), "is no address"),
    (memory("custom:http://h:99999/"), "is no address"),
    (memory("custom:http://mina:pw@h:99999/?k=pw"), "'http://h:99999/' is"),
    (memory("custom:http://mina:pw@h/"), "no user or password"),
    (memory("openai", model=""), "embedding_model is empty"),
    (memory("openai", dimensions=0), "embedding_dimensions is 0"),
    (memory("local", model="bge-small"), "no embedding model 'bge-small'"),
    (memory("openai", dimensions=-1), "embedding_dimensions"),
])
def test_settings_that_can_t_be_are_said(tree, text, words):
    with pytest.raises(ConfigError, match=words) as caught:
        build_embedder(tree(text), env={"OPENAI_API_KEY": OPENAI})
    assert "pw" not in f"{caught.value.message} {caught.value.hint}"


def test_local_lies_beside_the_settings(tree, tmp_path):
    found = tree(memory("local"))
    here = build_embedder(found, env={})
    there = build_embedder(found, env={"CLAW_MODELS": str(tmp_path / "m")})

    assert isinstance(here, LocalEmbedder)
    assert here.folder == tmp_path / "home/models/all-minilm-l6-v2"
    assert there.folder == tmp_path / "m/all-minilm-l6-v2"
    with pytest.raises(ConfigError, match="not installed"):
        here.embed(["a"])


def test_a_hint_takes_its_route(tree):
    asked = Asked(tree(memory("openai", model="hint:work",
                              api_key="sk-base") + ROUTES), {})

    assert asked.url == "https://vectors.test/v1/embeddings"
    assert asked.key == "Bearer key-of-the-route"
    assert asked.embedder.model.endswith("|bge-m3|3")


def test_a_route_without_a_length_has_that_of_the_memory(tree):
    asked = Asked(tree(memory("openai", model="hint:again", dimensions=256,
                              api_key="sk-base") + ROUTES), {})

    assert asked.key == "Bearer sk-base"
    assert asked.embedder.dimensions == 256
    assert b'"model":"text-embedding-3-large"' in asked.request.content


def test_a_route_works_where_the_memory_names_no_provider(tree):
    asked = Asked(tree(memory("none", model="hint:work") + ROUTES), {})

    assert asked.url == "https://vectors.test/v1/embeddings"


def test_the_memorys_key_goes_to_no_other_provider_of_a_route(tree):
    text = (memory("custom:http://h.test/v1", model="hint:again",
                   api_key="key-of-h") + ROUTES)
    asked = Asked(tree(text), {"OPENAI_API_KEY": OPENAI})

    assert asked.key == f"Bearer {OPENAI}"
    with pytest.raises(AuthError):
        build_embedder(tree(text), env={}).embed(["a"])


@pytest.mark.parametrize(("hint", "words"), [
    ("nowhere", "no such route"), ("empty", "no provider or no model"),
    ("flat", "0 dimensions")])
def test_a_route_that_can_t_be_used_is_said_and_left_out(tree, hint, words):
    heard = []
    asked = Asked(tree(memory("openai", model=f"hint:{hint}") + ROUTES),
                  {"OPENAI_API_KEY": OPENAI}, notify=heard.append)

    assert len(heard) == 1
    assert words in heard[0]
    assert b'"model":"text-embedding-3-small"' in asked.request.content


def test_without_a_listener_the_tree_warns(tree):
    found = tree(memory("none", model="hint:nowhere"))

    assert build_embedder(found, env={}) is None
    assert "no such route" in found.warnings[0]


def test_a_server_without_a_model_is_an_error(tree):
    with pytest.raises(ConfigError, match="no such route"):
        build_embedder(tree(memory("custom:http://h.test/v1",
                                model="hint:nowhere")), env={})


class Theirs(EmbeddingProvider):
    """What another package brings."""

    name = "theirs"
    dimensions = 2
    model = "theirs|1"
    is_multilingual = True

    def __init__(self, connection=None):
        self.connection = connection

    def embed(self, texts):
        return [[1.0, 0.0] for _ in texts]


class Built(Theirs):
    @classmethod
    def build(cls, connection):
        return cls(connection)


@pytest.mark.parametrize("room", [Theirs, Built])
def test_other_packages_bring_rooms(tree, monkeypatch, room):
    monkeypatch.setattr(
        type(embeddings.REGISTRY), "_entry_points",
        lambda self: [Point("theirs", room)])
    found = build_embedder(tree(memory("theirs", model="big", dimensions=2,
                                    api_key="k")), env={})

    assert found.embed_one("a") == [1.0, 0.0]
    if room is Built:
        assert found.connection.model == "big"
        assert found.connection.dimensions == 2
        assert found.connection.key == "k"
        assert "'k'" not in repr(found.connection)


class Point:
    def __init__(self, name, room):
        self.name = name
        self._room = room

    def load(self):
        return self._room
