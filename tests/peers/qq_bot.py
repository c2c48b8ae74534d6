"""A bot made with qq-botpy, the vendor's own client; run with its python:

    qq_bot.py BASE_URL APP_ID SECRET

It answers what it hears with "echo: ...", twice under one number, and says
on stdout, a JSON list a line, what it was told and what came of its calls.
"""

import json
import sys

import aiohttp
import botpy
import botpy.http

base, app_id, secret = sys.argv[1:]
botpy.http.Route.SCHEME, botpy.http.Route.DOMAIN = base.split("://")
_request = aiohttp.ClientSession._request


async def request(self, method, url, **more):
    """The address of the token is written into the client."""
    more.pop("ssl", None)
    return await _request(self, method, str(url).replace(
        "https://bots.qq.com", base), **more)


aiohttp.ClientSession._request = request


def tell(*what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Bot(botpy.Client):
    async def on_ready(self):
        tell("ready", self.robot.name)

    async def on_c2c_message_create(self, message):
        tell("c2c", message.id, message.author.user_openid, message.content,
             [a.url for a in message.attachments])
        for _ in range(2):
            try:
                sent = await message._api.post_c2c_message(
                    openid=message.author.user_openid, msg_type=0,
                    msg_id=message.id, msg_seq=2,
                    content=f"echo: {message.content}")
                tell("sent", sent["id"])
            except botpy.errors.ServerError as error:
                tell("refused", str(error))

    async def on_group_at_message_create(self, message):
        tell("group", message.id, message.group_openid,
             message.author.member_openid, message.content)
        await message.reply(content="echo", msg_seq=2)

    async def on_friend_add(self, event):
        tell("friend", event.openid)

    async def on_interaction_create(self, press):
        tell("press", press.id, press.data.resolved.button_data)
        await self.api.on_interaction_result(press.id, 3)


Bot(intents=botpy.Intents(public_messages=True, interaction=True),
    bot_log=False).run(appid=app_id, secret=secret)
