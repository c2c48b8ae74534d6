"""The [channels_config.line] table of config.toml, and how to set it up."""

from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

TABLE = "channels_config.line"
KEY_S = 82_800.0  # LINE's day, less what a request and a clock may take
SETUP = """\
A LINE Official Account answers in private chats and in groups. LINE posts
what people write to claw's gateway, so that has to be reachable over HTTPS.

1. Make an official account at [manager.line.biz](https://manager.line.biz),
   and enable the **Messaging API** under *Settings > Messaging API*. Under
   *Settings > Response settings* turn *Webhooks* on and *Auto-response* off.
2. At [developers.line.biz](https://developers.line.biz/console/) open the
   channel. Under *Basic settings* stands the **channel secret**, with which
   LINE signs what it posts; without it claw takes nothing. Under *Messaging
   API* issue a long-lived **channel access token**:

       claw config set channels_config.line.channel_secret
       claw config set channels_config.line.channel_access_token

   Or in the environment: `CLAW_CHANNELS_CONFIG__LINE__CHANNEL_SECRET`.
3. Make the gateway reachable. It listens on this machine alone; a tunnel or
   a reverse proxy gives it an HTTPS address:

       claw config set gateway.enabled true
4. Start `claw listen`. Under *Messaging API* of the channel enter
   `https://YOUR.HOST/line` as the webhook URL, press *Verify*, and turn on
   *Use webhook* and **Webhook redelivery**: without that LINE drops what
   claw was not there for.
5. `claw listen` logs a code; who sends `/bind CODE` in a private chat is let
   in. Or name people by their user id (`U4af4980629...`, as the log shows it;
   not the LINE ID that people search for):

       claw config set channels_config.line.allowed_users '["U4af4980629..."]'

**In groups.** Allow *joining group chats* under *Messaging API*, and invite
the account. It hears everything; with `mention_only` only what mentions it or
quotes it.

**What costs.** A plan has so many messages a month (200 in the free one of
Japan). An answer within 45 seconds is a *reply* and costs nothing;
what comes later, or answers nothing, is a *push* and counts once for each
reader. Up to five texts go in one. When the month is used up, pushes wait in
the outbox and go out as replies, one for each message that the person writes
from then on; `claw queue list` and `claw channel doctor line` say so. A push
is shown once, whatever is killed; so is a reply, unless claw is away for the
minute after it was cut off: then it comes again with "(possibly repeated)".

**Files.** What people send is fetched. LINE takes no files from bots, only
https addresses of JPEG and PNG pictures; in the place of any other file stands
why it is not there. LINE does not tell what was forwarded. What somebody
unsends is quoted no more; what claw has answered stays in its history.

**Nothing arrives?** `claw channel doctor line` tells: the token, the webhook
URL, whether LINE reaches it, what is left of the month. Somebody who has
blocked the account gets nothing, and LINE reports no error; claw knows it
from the event and says so.
"""

Count = Annotated[int, msgspec.Meta(ge=0)]


class LineSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.line].

    channel_access_token: the long-lived token of the channel
    channel_secret: the channel's secret, with which LINE signs what it
        posts; nothing is taken without it
    allowed_users: user ids (U4af4980629...) that may write; "*" is everybody,
        empty nobody until one is paired; beside "*", those who are named are
        the owners, others are strangers without tools and memories: nobody
        else may approve
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    mention_only: in groups react only to what mentions or quotes the account
    listen_path: the gateway's path that LINE posts to
    api_base_url: the Messaging API
    data_base_url: the Messaging API's server of files
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    """

    channel_access_token: str = ""
    channel_secret: str = ""
    mention_only: bool = False
    listen_path: str = "/line"
    api_base_url: str = "https://api.line.me"
    data_base_url: str = "https://api-data.line.me"
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True
