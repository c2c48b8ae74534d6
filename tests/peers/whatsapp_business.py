"""A business with pywa: reads {"do", ...} a line, writes {"ok"|"error"} a
line.
    python whatsapp_business.py URL NUMBER_ID TOKEN APP_SECRET VERIFY_TOKEN
"""

import base64
import json
import sys
from urllib.parse import urlsplit

import httpx
from pywa import WhatsApp, handlers, types

URL, NUMBER_ID, TOKEN, SECRET, VERIFY = sys.argv[1:]
heard = []


class ToTheFake(httpx.HTTPTransport):
    """Meta's host is the fake's."""

    def handle_request(self, request):
        there = urlsplit(URL)
        request.url = request.url.copy_with(
            scheme=there.scheme, host=there.hostname, port=there.port)
        request.headers["host"] = there.netloc
        return super().handle_request(request)


business = WhatsApp(
    NUMBER_ID, TOKEN, session=httpx.Client(transport=ToTheFake()),
    server=None, app_secret=SECRET, verify_token=VERIFY)
business.add_handlers(
    handlers.MessageHandler(lambda _, m: heard.append({
        "is": "message", "id": m.id, "text": m.text or m.caption,
        "type": str(m.type), "user": m.from_user.bsuid,
        "number": m.from_user.wa_id, "name": m.from_user.name})),
    handlers.CallbackButtonHandler(lambda _, b: heard.append({
        "is": "button", "data": b.data, "title": b.title})),
    handlers.MessageStatusHandler(lambda _, s: heard.append({
        "is": "status", "id": s.id, "status": str(s.status),
        "tracker": s.tracker, "code": s.error and s.error.code})),
    handlers.PhoneNumberChangeHandler(lambda _, c: heard.append({
        "is": "change", "old": c.old_wa_id, "new": c.new_wa_id,
        "user": c.new_user_id})))


def take(asked):
    """A webhook: refused, or what it says."""
    heard.clear()
    body = base64.b64decode(asked["body"])
    refused = business.webhook_update_validator(body, asked["signature"])
    if refused:
        return {"refused": refused[1]}
    business.webhook_update_handler(body)
    return {"heard": list(heard)}


def send(asked):
    to, kind = asked["to"], asked["kind"]
    if kind == "text":
        sent = business.send_message(to, asked["text"],
                                     reply_to_message_id=asked.get("context"))
    elif kind == "buttons":
        sent = business.send_message(to, asked["text"], buttons=[
            types.Button(title, callback_data=data)
            for title, data in asked["buttons"]])
    elif kind == "list":
        sent = business.send_message(to, asked["text"], buttons=(
            types.SectionList("Choose", sections=[types.Section(
                "Choose", rows=[types.SectionRow(title, callback_data=data)
                                for title, data in asked["buttons"]])])))
    elif kind == "typing":
        business.indicate_typing(asked["message"])
        return {}
    elif kind == "reaction":
        business.send_reaction(to, asked["emoji"], asked["message"])
        return {}
    else:
        sent = getattr(business, f"send_{kind}")(
            to, asked["path"], **asked.get("more", {}))
    return {"id": sent.id}


for line in sys.stdin:
    asked = json.loads(line)
    try:
        answer = {"ok": {"take": take, "send": send}[asked["do"]](asked)}
    except Exception as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
