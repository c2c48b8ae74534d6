"""Reactions: words of the robot's that DingTalk shows under a message."""

from claw.channels.dingtalk.api import DingtalkApi
from claw.channels.dingtalk.messages import parse_id

# As DingTalk's own connectors do it: a text, in a frame that it knows.
_NAMES = {"👀": "🤔思考中", "✅": "✅", "⚠": "⚠️"}
_FRAME = {"emotionId": "2659900", "backgroundId": "im_bg_1"}


class Signs:
    """The reactions of one robot; they never raise."""

    def __init__(self, api: DingtalkApi) -> None:
        self._api = api

    async def react(self, own_id: str, emoji: str, *, remove: bool) -> None:
        found = parse_id(own_id)
        name = _NAMES.get(emoji.replace("\ufe0f", "").strip())
        if found is None or name is None:
            return
        conversation, message, _ = found
        await self._api.cosmetic(
            f"robot/emotion/{'recall' if remove else 'reply'}",
            {"robotCode": self._api.robot_code, "openMsgId": message,
             "openConversationId": conversation, "emotionType": 2,
             "emotionName": name, "textEmotion": {
                 **_FRAME, "emotionName": name, "text": name}}, "a reaction")
