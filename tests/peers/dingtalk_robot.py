"""A robot made with the vendor's SDK: it answers "pong: <text>" to each
message and prints a line of JSON for what it is asked.

    python dingtalk_robot.py BASE CLIENT_ID CLIENT_SECRET
"""

import asyncio
import json
import sys

import dingtalk_stream
from dingtalk_stream import AckMessage, chatbot, stream, utils

base, client_id, secret = sys.argv[1:]
for module in (utils, chatbot, stream):
    module.DINGTALK_OPENAPI_ENDPOINT = base
Client = dingtalk_stream.DingTalkStreamClient
Client.OPEN_CONNECTION_API = base + "/v1.0/gateway/connections/open"
Client.get_host_ip = lambda self: "127.0.0.1"


def say(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


class Robot(dingtalk_stream.ChatbotHandler):
    async def process(self, callback):
        found = dingtalk_stream.ChatbotMessage.from_dict(callback.data)
        texts, images = found.get_text_list(), found.get_image_list()
        say(texts=texts, images=[
            self.get_image_download_url(code) for code in images or ()],
            sender=found.sender_staff_id, chat=found.conversation_id,
            at=[user.dingtalk_id for user in found.at_users])
        if texts:
            self.reply_markdown("pong", f"pong: {texts[0]}", found)
        return AckMessage.STATUS_OK, "OK"


client = Client(dingtalk_stream.Credential(client_id, secret))
client.register_callback_handler(dingtalk_stream.ChatbotMessage.TOPIC,
                                 Robot())
asyncio.run(client.start())
