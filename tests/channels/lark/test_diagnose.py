"""What `claw channel doctor` says, and the two regions."""

import asyncio

from claw.channels.lark import FeishuChannel


def diagnose(app, **given):
    async def go():
        channel = app.make(**given)
        try:
            return {f.id: f for f in await channel.diagnose()}
        finally:
            await channel.aclose()
    return asyncio.run(go())


def test_all_is_well(app):
    found = diagnose(app)

    assert {f.status for f in found.values()} <= {"ok", "skip"}
    assert found["bot"].detail == "it is claw (ou_bot)"
    assert found["scopes"].status == "ok"
    assert found["events"].status == "ok"


def test_a_wrong_secret_is_said_and_not_shown(app):
    found = diagnose(app, app_secret="another-secret-9")

    assert found["token"].status == "fail"
    assert "app_secret" in found["token"].hint
    assert all("another-secret" not in f.detail + (f.hint or "")
               for f in found.values())


def test_missing_settings_are_named(app):
    found = diagnose(app, app_id="")

    assert found["token"].status == "fail"
    assert "app_id" in found["token"].hint


def test_a_bot_that_is_not_published_and_odd_ids_are_named(app, platform):
    platform.active = 1

    found = diagnose(app, allowed_users=("alice", "ou_1"))

    assert found["bot"].status == "warn"
    assert "publish" in found["bot"].hint
    assert found["allow_list"].status == "fail"
    assert "alice" in found["allow_list"].detail


def test_too_many_connections_are_named(app, platform):
    platform.endpoint_code = 1000040350, "exceed"

    found = diagnose(app)
    platform.endpoint_code = None

    assert found["events"].status == "fail"
    assert "fifty" in found["events"].detail


def test_a_webhook_that_is_not_signed_is_a_warning(app):
    bare = diagnose(app, receive_mode="webhook", verification_token="v")
    good = diagnose(app, receive_mode="webhook", encrypt_key="k")

    assert bare["events"].status == "warn"
    assert good["events"].status == "ok"


def test_each_region_has_its_host_and_its_table(app):
    feishu = app.make(made=FeishuChannel, api_base_url=None)
    lark = app.make(api_base_url=None)
    legacy = app.make(api_base_url=None, use_feishu=True)

    assert feishu._api.base_url == legacy._api.base_url \
        == "https://open.feishu.cn"
    assert lark._api.base_url == "https://open.larksuite.com"
    assert feishu._api.brand.table == "channels_config.feishu"
    assert legacy._api.brand.table == "channels_config.lark"
    assert "open.feishu.cn" in FeishuChannel.setup
