"""A bot with line-bot-sdk: reads {"do", ...} a line, writes {"ok"|"error"}
a line.
The first one that a test asks is {"do": "meet"}: which platform it is.
"""

import base64
import json
import sys

from linebot.v3 import WebhookParser
from linebot.v3 import messaging as m
from linebot.v3.exceptions import InvalidSignatureError

parser = api = files = None


def meet(asked):
    global parser, api, files
    parser = WebhookParser(asked["secret"])
    client = m.ApiClient(m.Configuration(host=asked["url"],
                                         access_token=asked["token"]))
    api, files = m.MessagingApi(client), m.MessagingApiBlob(client)


def take(asked):
    """A webhook: refused, or its events as the SDK writes them again."""
    body = base64.b64decode(asked["body"]).decode()
    try:
        events = parser.parse(body, asked["signature"])
    except InvalidSignatureError:
        return "refused"
    return [[type(event).__name__, json.loads(event.to_json())]
            for event in events]


def read(asked):
    """The body of a call as the SDK writes it again."""
    kind = {"push": m.PushMessageRequest, "reply": m.ReplyMessageRequest,
            "loading": m.ShowLoadingAnimationRequest}[asked["call"]]
    return json.loads(kind.from_dict(asked["body"]).to_json())


def push(asked):
    """The ids, or the status of a refusal."""
    try:
        sent = api.push_message(m.PushMessageRequest(
            to=asked["to"], messages=[m.TextMessage(text=asked["text"])]),
            x_line_retry_key=asked["key"])
    except m.ApiException as error:
        return error.status
    return [message.id for message in sent.sent_messages]


def reply(asked):
    try:
        sent = api.reply_message(m.ReplyMessageRequest(
            replyToken=asked["token"],
            messages=[m.TextMessage(text=asked["text"])]))
    except m.ApiException as error:
        return error.status
    return [message.id for message in sent.sent_messages]


def look(asked):
    """What there is to ask."""
    api.show_loading_animation(m.ShowLoadingAnimationRequest(
        chatId=asked["user"], loadingSeconds=20))
    quota = api.get_message_quota()
    return {
        "bot": api.get_bot_info().display_name,
        "name": api.get_profile(asked["user"]).display_name,
        "member": api.get_group_member_profile(
            asked["group"], asked["user"]).display_name,
        "quota": [quota.type, quota.value,
                  api.get_message_quota_consumption().total_usage],
        "endpoint": api.get_webhook_endpoint().active,
        "test": api.test_webhook_endpoint(
            m.TestWebhookEndpointRequest()).success,
        "file": bytes(files.get_message_content(asked["file"])).decode()}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"ok": globals()[asked["do"]](asked)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
