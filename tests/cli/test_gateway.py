"""claw gateway: keys and codes, as their owner meets them."""

import re

import pytest


def test_a_key_from_add_to_revoke(claw, home):
    made = claw("gateway", "token", "add", "laptop", "--sees", "owner")
    listed = claw("gateway", "token", "list", "--json").json
    turned = claw("gateway", "token", "rotate", "laptop", "--json").json
    gone = claw("gateway", "token", "revoke", "laptop")

    token = made.out.strip()
    assert re.fullmatch(r"zc_[0-9a-f]{64}", token)
    assert listed["total"] == 1
    assert listed["keys"][0]["sees"] == "owner"
    assert listed["keys"][0]["used_at"] is None
    assert turned["name"] == "laptop"
    assert turned["token"] != token
    assert gone.code == 0
    assert claw("gateway", "token").out == ""
    assert token not in str((home / "gateway.db").read_bytes())


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["token", "add"], 2, "one name"),
    (["token", "add", "a", "b"], 2, "one name"),
    (["token", "add", ""], 2, "can't be the name"),
    (["token", "add", "a\nb"], 2, "can't be the name"),
    (["token", "add", "a", "--sees", " "], 2, "--sees is empty"),
    (["token", "ad", "a"], 2, "add, list, rotate, revoke"),
    (["token", "list", "a"], 2, "takes no name"),
    (["token", "list", "--sees", "owner"], 2, "token add"),
    (["token", "revoke"], 2, "takes names"),
    (["token", "revoke", "nobody"], 1, "no such key: nobody"),
    (["token", "rotate", "nobody"], 1, "no such key: nobody"),
    (["tokn"], 2, "no such command"),
])
def test_what_is_wrong_is_said(claw, home, arguments, code, said):
    done = claw("gateway", *arguments)

    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_looking_at_keys_makes_no_file(claw, home):
    done = claw("gateway", "token", "list")

    assert (done.code, done.out) == (0, "")
    assert not (home / "gateway.db").exists()


def test_a_code_is_printed_and_nothing_else(claw, home):
    done = claw("gateway", "pair", "phone")

    assert re.fullmatch(r"[0-9A-Z]{4}-[0-9A-Z]{4}\n", done.out)
    assert "/pair" in done.err
    assert claw("gateway", "pair", "--json").json["expires_in_s"] == 3600


def test_without_a_command_it_serves(claw, home):
    """Options alone are for that; --help is of the group."""
    home.mkdir()
    (home / "config.toml").write_text(
        '[gateway]\nhost = "192.0.2.1"\n')

    for arguments in (["gateway"], ["gateway", "-q"], ["gateway", "serve"]):
        done = claw(*arguments)
        assert done.code == 3
        assert "allow_public_bind" in done.err
    assert "token" in claw("gateway", "--help").out


def test_the_check_of_listen_knows_what_would_let_anybody_in(claw, home):
    home.mkdir()
    (home / "config.toml").write_text(
        '[gateway]\nenabled = true\nhost = "0.0.0.0"\n')

    done = claw("listen", "--check")
    assert done.code == 3
    assert "allow_public_bind" in done.out + done.err


def test_a_link_signs_one_browser_in_as_the_owner(claw, home):
    told = claw("gateway", "link", "--json").json
    claw("config", "set", "gateway.path_prefix", "/claw")
    claw("config", "set", "gateway.public_url", "https://claw.example.org/")
    done = claw("gateway", "link")

    assert re.fullmatch(r"https://claw\.example\.org/claw/#code="
                        r"[0-9A-Z]{4}-[0-9A-Z]{4}\n", done.out)
    assert told["url"].startswith("http://127.0.0.1:42617/#code=")
    assert told["expires_in_s"] == 3600
    assert "good once" in done.err
