"""The [channels_config.whatsapp] table of config.toml, and how to set it
up."""

import re
from typing import Annotated

import msgspec

from claw.channels.access import AccessSettings

TABLE = "channels_config.whatsapp"
SETUP = """\
A number of the WhatsApp Business Platform answers in private chats. Meta
posts what people write to claw's gateway, so that has to be reachable over
HTTPS.

1. At [developers.facebook.com](https://developers.facebook.com/apps) make an
   app of the type *Business* and add *WhatsApp*. Under *API setup* stands
   the **phone number ID** (of a test number too):

       claw config set channels_config.whatsapp.phone_number_id 106540352242922
2. In the *Business settings* make a **system user**, give it the app and the
   WhatsApp account, and a token that never expires with the permissions
   `whatsapp_business_messaging` and `whatsapp_business_management`. (The
   token under *API setup* is gone after a day.)

       claw config set channels_config.whatsapp.access_token
3. Under *App settings > Basic* stands the **app secret**. Meta signs with it
   what it posts; without it claw takes nothing:

       claw config set channels_config.whatsapp.app_secret

   Or in the environment: `CLAW_CHANNELS_CONFIG__WHATSAPP__APP_SECRET`.
4. Think of a **verify token**, any word, and make the gateway reachable:

       claw config set channels_config.whatsapp.verify_token
       claw config set gateway.enabled true

   It listens on this machine alone; a tunnel or a reverse proxy gives it an
   HTTPS address.
5. Start `claw listen`. Under *WhatsApp > Configuration* of the app enter
   `https://YOUR.HOST/whatsapp` and the verify token, press *Verify and save*,
   and subscribe to the field **messages**.
6. `claw listen` logs a code; who sends `/bind CODE` is let in. Or name people
   by their number or their user id (`US.1349...`, as the log shows it):

       claw config set channels_config.whatsapp.allowed_users '["+4917012345"]'

   A number belongs to the first person who comes with it. When WhatsApp says
   that somebody's number or user id has changed, he stays let in.

**The 24-hour window.** A business may write freely for 24 hours after a
person's last message. After that WhatsApp takes templates alone. Make one
under *WhatsApp Manager > Message templates* whose body has one variable, e.g.
`News for you: {{1}}. Write back to read on.`, and name it:

    claw config set channels_config.whatsapp.template claw_news
    claw config set channels_config.whatsapp.template_language en

Then what claw sends on its own after the window (`claw send`, schedules) goes
out as that template, the text in its variable: on one line, up to 900
characters. Each costs what Meta charges for a template. Without one such a
message fails, and its error says so.

**Nothing arrives?** `claw channel doctor whatsapp` tells: the token, the
number, where Meta posts to. The app has to be *live* for numbers other than
those of its testers. Groups are not answered. What is written while claw is
away comes once it is back: Meta tries for up to seven days.

The *Web* mode of other agents (`session_path`, `pair_phone`) is a phone that
is imitated, against WhatsApp's terms; claw does not have it.
"""

Count = Annotated[int, msgspec.Meta(ge=0)]
Version = Annotated[str, msgspec.Meta(pattern=r"^v[0-9]{1,3}\.[0-9]{1,2}$")]
_NUMBER = re.compile(r"\+?[0-9][0-9 ().-]{4,24}", re.ASCII)


class WhatsappSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.whatsapp].

    phone_number_id: the id of the number that answers (not the number)
    access_token: the token of a system user
    app_secret: the app's secret, with which Meta signs what it posts; nothing
        is taken without it
    verify_token: the word that Meta shows when the webhook is set up
    allowed_users: numbers (+4917012345) or user ids (US.1349...) that may
        write; "*" is everybody, empty nobody until one is paired; beside
        "*", those who are named are the owners, others are strangers without
        tools and memories; the reference's allowed_numbers is the same
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    template: the name of an approved template with one variable, for what is
        sent later than 24 hours after a person's last message
    template_language: its language, as it was approved in
    listen_path: the gateway's path that Meta posts to
    api_version: the version of the Graph API
    api_base_url: the Graph API server
    ack_reactions: react with 👀, then ✅ or ⚠️; unset: as in
        channels_config
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    proxy_url: http, https, socks5 or socks5h proxy of this channel
    show_hint_to_strangers: tell people who are not allowed how they can be
    session_path: of the reference's Web mode, which claw does not have
    """

    phone_number_id: str = ""
    access_token: str = ""
    app_secret: str = ""
    verify_token: str = ""
    template: str = ""
    template_language: str = "en"
    listen_path: str = "/whatsapp"
    api_version: Version = "v26.0"
    api_base_url: str = "https://graph.facebook.com"
    ack_reactions: bool | None = None
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None
    proxy_url: str | None = None
    show_hint_to_strangers: bool = True
    session_path: str | None = None

    @staticmethod
    def spell(entry: str) -> str:
        return spell_person(entry)


def spell_person(entry: str | int) -> str:
    """An entry of the allow-list, a recipient: numbers as +4917012345, in
    whatever way they are written; all else as it is."""
    text = str(entry).strip()
    if _NUMBER.fullmatch(text):
        return "+" + "".join(filter(str.isdigit, text))
    return text
