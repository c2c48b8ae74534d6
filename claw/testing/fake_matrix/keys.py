"""The half of the fake that carries keys and never opens them: device keys,
one-time keys, messages to devices."""

from typing import Any

Json = dict[str, Any]


class Keys:
    """Keys by user and device, and what waits for each device."""

    def __init__(self) -> None:
        self.devices: dict[str, dict[str, Json]] = {}
        self.one_time: dict[tuple[str, str], Json] = {}
        self.waiting: dict[tuple[str, str], list[tuple[int, Json]]] = {}
        self.changed: list[tuple[int, str]] = []

    def upload(self, user: str, device: str, body: Json, at: int) -> Json:
        if "device_keys" in body:
            self.devices.setdefault(user, {})[device] = body["device_keys"]
            self.changed.append((at, user))
        own = self.one_time.setdefault((user, device), {})
        own.update(body.get("one_time_keys", {}))
        return {"one_time_key_counts": {"signed_curve25519": len(own)}}

    def query(self, body: Json) -> Json:
        return {"failures": {}, "device_keys": {
            user: self.devices.get(user, {})
            for user in body["device_keys"]}}

    def claim(self, body: Json) -> Json:
        found: Json = {}
        for user, devices in body["one_time_keys"].items():
            for device in devices:
                own = self.one_time.get((user, device), {})
                for number in list(own)[:1]:
                    found.setdefault(user, {})[device] = {
                        number: own.pop(number)}
        return {"failures": {}, "one_time_keys": found}

    def send(self, sender: str, kind: str, body: Json, at: int) -> Json:
        for user, devices in body["messages"].items():
            for device, content in devices.items():
                self.waiting.setdefault((user, device), []).append(
                    (at, {"type": kind, "sender": sender,
                          "content": content}))
        return {}

    def news(self, user: str, device: str, since: int) -> Json:
        """What a sync tells a device. What stood at or before `since` has
        arrived."""
        waiting = self.waiting.get((user, device), [])
        waiting[:] = [one for one in waiting if one[0] > since]
        return {
            "to_device": {"events": [event for _, event in waiting]},
            "device_lists": {"changed": [
                name for at, name in self.changed if at > since]},
            "device_one_time_keys_count": {
                "signed_curve25519": len(self.one_time.get(
                    (user, device), {}))}}
