"""The [channels_config.dingtalk] table of config.toml, and how to begin."""

from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

Count = Annotated[int, msgspec.Meta(ge=0)]

SETUP = """\
An app of your organisation answers in private chats and in groups. No \
address of yours has to be reachable.

1. Open open-dev.dingtalk.com, *Application Development*, and create an \
internal app.
2. *Add capabilities*: add a *Robot*. Choose **Stream mode** for receiving \
messages, fill in the rest and publish.
3. *Permissions*: apply for *qyapi_robot_sendmsg* (messages of robots within \
the organisation): without it there are no files, no messages that answer \
nothing, and no answers an hour and a half after the question.
4. *Version management*: create a version and publish it. Only then DingTalk \
says who writes.
5. *Credentials*: copy the Client ID and the Client Secret.

```sh
claw config set channels_config.dingtalk.client_id dingxxxxxxxx
claw config set channels_config.dingtalk.client_secret < secret.txt
claw config set channels_config.dingtalk.allowed_users '["manager807"]'
claw channel doctor dingtalk
claw listen
```

A user id stands in the admin console (oa.dingtalk.com), *Contacts*, at the \
person. With nobody allowed `claw listen` logs a code instead: send the robot \
`/bind CODE` in a private chat.

- In a group add the robot (*Group settings*, *Robots*) and mention it: \
DingTalk hands over only what mentions it. Groups can't send it voice \
messages, videos and files.
- DingTalk keeps no history for robots. What was handed over and not \
confirmed comes again after a minute or so; what is written while no `claw \
listen` is connected is lost, so run two where that matters: each message \
goes to one of them.
- People outside of the organisation can be answered for an hour and a half \
after they wrote, and get no files.
- Approvals are links that write the answer for you, or typed: `yes k7m3p`.
- The international DingTalk (dingtalk.io) has other addresses: set \
`api_base_url` to https://api.dingtalk.io and `oapi_base_url` to \
https://oapi.dingtalk.io.

Nothing arrives? `claw channel doctor dingtalk` names the step that fails. \
Somebody else who listens with the same Client ID takes a share of the \
messages.
"""


class DingtalkSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.dingtalk].

    client_id: the Client ID (AppKey) of the app
    client_secret: its Client Secret (AppSecret)
    robot_code: the robot's code where it is not the Client ID
    allowed_users: user ids of people; "*" is everybody, empty nobody until
        one is paired; beside "*", those who are named are the owners, others
        are strangers without tools and memories: nobody else may approve
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    interrupt_on_new_message: a new message cancels the running answer
    mention_only: in groups react to @mentions only, where the app is given
        all messages
    mention_sender: in groups mention the person who is answered
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in channels_config
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    api_base_url: the API
    oapi_base_url: the older API, for uploads
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    client_id: str = ""
    client_secret: str = ""
    robot_code: str = ""
    interrupt_on_new_message: bool = False
    mention_only: bool = False
    mention_sender: bool = True
    ack_reactions: bool | None = None
    debounce_ms: Count | None = None
    api_base_url: str = "https://api.dingtalk.com"
    oapi_base_url: str = "https://oapi.dingtalk.com"
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True
