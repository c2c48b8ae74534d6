"""What Meta posts: its envelope, messages, statuses, and the signature."""

import hashlib
import hmac
import json
from typing import Any

Json = dict[str, Any]


def wrap(number_id: str, *values: Json) -> bytes:
    """A webhook with a change for each of these values."""
    return json.dumps({"object": "whatsapp_business_account", "entry": [{
        "id": "102290129340398", "changes": [
            {"field": "messages", "value": {
                "messaging_product": "whatsapp", "metadata": {
                    "display_phone_number": "15550783881",
                    "phone_number_id": number_id}, **value}}
            for value in values]}]}).encode()


def sign(secret: str, body: bytes) -> dict[str, str]:
    """The headers of a body that Meta posts."""
    mac = hmac.new(secret.encode(), body, hashlib.sha256)
    return {"Content-Type": "application/json",
            "X-Hub-Signature-256": f"sha256={mac.hexdigest()}"}


def build_message(number: str, user_id: str, name: str,
                  message: Json) -> Json:
    """The value of a message: who wrote it stands beside it. "" for what a
    person does not show."""
    contact: Json = {"profile": {"name": name}}
    own: Json = {}
    if number:
        contact["wa_id"] = own["from"] = number.removeprefix("+")
    if user_id:
        contact["user_id"] = own["from_user_id"] = user_id
    return {"contacts": [contact], "messages": [{**own, **message}]}


def build_status(status: str, sent: Json, at: int,
                 errors: list[Json] | None = None) -> Json:
    """The value of a status of a message that was sent."""
    found: Json = {"id": sent["id"], "status": status, "timestamp": str(at),
                   "recipient_id": sent.get("to", "")}
    contact: Json = {"profile": {"name": "Mina"},
                     "wa_id": found["recipient_id"]}
    if "recipient" in sent:
        contact["user_id"] = found["recipient_user_id"] = sent["recipient"]
    if "biz_opaque_callback_data" in sent:
        found["biz_opaque_callback_data"] = sent["biz_opaque_callback_data"]
    return {"contacts": [contact], "statuses": [
        {**found, **({"errors": errors} if errors else {})}]}
