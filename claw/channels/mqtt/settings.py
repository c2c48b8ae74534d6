"""The [channels_config.mqtt] table of config.toml, and how to set it up."""

from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from claw.channels.access import AccessSettings
from claw.channels.mqtt.topics import TOPIC, find_fault, find_filter_fault
from claw.core.value import Value

PORTS = {"mqtt": 1883, "mqtts": 8883}
_SIGNS = "+#/"

Count = Annotated[int, msgspec.Meta(ge=0)]
Qos = Annotated[int, msgspec.Meta(ge=0, le=2)]
ReplyFormat = Literal["text", "json"]
KeepAlive = Annotated[int, msgspec.Meta(ge=5, le=3600)]

SETUP = """\
An MQTT 5 broker carries the messages: people and programs publish to a
topic, claw answers to another one.

1. Take a broker that speaks MQTT 5: Mosquitto 1.6 or newer, EMQX, HiveMQ,
   VerneMQ. Use TLS (`mqtts://`) for everything past your own machine.
2. Make a user for claw there. Let it read its topic and write the topic of
   its answers; for Mosquitto, in the file of `acl_file`:

       user claw
       topic read claw/ask/+
       topic write claw/ask/+/reply

3. Give each person or program a topic of their own, and let nobody else
   write to it: `user mina`, `topic write claw/ask/mina`,
   `topic read claw/ask/mina/reply`.
4. Tell claw:

       claw config set channels_config.mqtt.broker_url mqtts://broker.example
       claw config set channels_config.mqtt.username claw
       claw config set channels_config.mqtt.password
       claw config set channels_config.mqtt.topics '["claw/ask/+"]'
       claw config set channels_config.mqtt.allowed_users '["claw/ask/mina"]'

5. `claw channel doctor mqtt`, then `claw listen`, and ask:

       mosquitto_pub -V 5 -q 1 -t claw/ask/mina -m 'hello'

**Who is who.** Anyone who may publish can claim any name, so people are
known by the topic that they write to, and `allowed_users` lists topics
(whole ones, no + and #). The names in messages count only with
`trust_senders = true`: for brokers that check them.

**What is sent.** Plain UTF-8 text, or JSON: `{"content": "...", "sender":
"...", "id": "...", "thread_id": "..."}`, of which only `content` is needed.
A message with an `id` (in the JSON, or as a user property) is taken once,
however often it comes; so is one whose correlation data has 16 bytes or
more, such as a UUID. Publish with QoS 1 and do not retain: retained messages
are never answered. A message may have 256 KiB.

**Where answers go.** To `TOPIC/reply`, or as `reply_topic` says. A response
topic in the request is used where it lies below its topic or below one of
`reply_prefixes` (whoever may ask can then have answers sent to all who read
there); the correlation data comes back. Every answer has a user
property `id` (in JSON: the key `id`). MQTT delivers at least once: a program
that reads answers should drop an `id` that it had before. A repetition that
claw makes itself begins with "(possibly repeated)" as well. A long answer
comes in several messages, numbered "1/3" in the user property `part`.

**While claw is away** the broker keeps what is sent with QoS 1, for a week at
most (its own limits may be lower), under claw's `client_id`.

**Nothing arrives?** `claw channel doctor mqtt` tells what the broker grants;
the log has a line for each topic whose writer is not in `allowed_users`.
"""


class Address(Value):
    """Where the broker is."""

    host: str
    port: int
    secure: bool

    @property
    def where(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class MqttSettings(AccessSettings, frozen=True, kw_only=True):
    """[channels_config.mqtt]

    broker_url: mqtt://HOST or mqtts://HOST (TLS), with :PORT where it is
        not 1883 or 8883
    client_id: our name at the broker, under which it keeps messages while we
        are away; one for each claw. Unset: drawn once
    topics: what to listen to; + and # are wildcards
    qos: 1: nothing is lost; 0: no confirmations at all; 2 is taken as 1,
        claw itself takes a message once
    username: the user name at the broker
    password: its password
    use_tls: unset: as broker_url says; else it must agree with that
    ca_file: certificates to trust instead of the system's (PEM)
    cert_file: our own certificate, where the broker wants one (PEM)
    key_file: its key (PEM)
    keep_alive_secs: how often a silent connection is tried, 5 to 3600
    reply_topic: where answers go; {topic} is that of the question
    reply_prefixes: below these topics a request may choose where its answer
        goes, whoever reads there; below its own topic it always may
    reply_format: "text", or "json": {"id", "content", "thread_id"}
    allowed_users: who may write: the topics that they write to (whole, no
        wildcards), or names with trust_senders; "*" is everybody, empty
        nobody until one is paired; beside "*", those who are named are the
        owners, others are strangers without tools
    allow_everyone: with "*" alone in allowed_users, let everybody in, all of
        them strangers
    trust_senders: people are the names in their messages, not the topics
        they write to; only where the broker checks who says what
    share_group: several hosts that share the topics name the same group
    interrupt_on_new_message: a new message cancels the running answer
    debounce_ms: wait so long for more before answering; unset or 0: as in
        channels_config
    """

    broker_url: str = ""
    client_id: str = ""
    topics: tuple[str, ...] = ("claw/ask",)
    qos: Qos = 1
    username: str = ""
    password: str = ""
    use_tls: bool | None = None
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    keep_alive_secs: KeepAlive = 30
    reply_topic: str = f"{TOPIC}/reply"
    reply_prefixes: tuple[str, ...] = ()
    reply_format: ReplyFormat = "text"
    trust_senders: bool = False
    share_group: str = ""
    interrupt_on_new_message: bool = False
    debounce_ms: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.broker_url:
            address = read_address(self.broker_url)
            if self.use_tls is not None and self.use_tls != address.secure:
                raise ValueError(
                    f"use_tls = {str(self.use_tls).lower()} does not agree "
                    "with broker_url: mqtts:// is TLS, mqtt:// is not")
        if not self.topics:
            raise ValueError("topics is empty: there is nothing to listen to")
        for name in self.topics:
            if fault := find_filter_fault(name):
                raise ValueError(f"topics: {name[:80]!r}: {fault}")
        for name in (self.reply_topic.replace(TOPIC, "t"),
                     *self.reply_prefixes):
            if fault := find_fault(name):
                raise ValueError(f"{name[:80]!r} can't be answered to: "
                                 f"{fault}")
        if any(sign in self.share_group for sign in _SIGNS):
            raise ValueError("share_group must hold no +, # and /")
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("cert_file and key_file go together")


def read_address(url: str) -> Address:
    """Raises ValueError, which never shows what stands before the host."""
    parts = _split(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError("broker_url must be mqtt://HOST or mqtts://HOST")
    if parts.username is not None or parts.password is not None:
        raise ValueError("broker_url must hold no user and password: they "
                         "have keys of their own, username and password")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("broker_url ends with the host, or its port")
    return Address(parts.hostname, parts.port or PORTS[parts.scheme],
                   parts.scheme == "mqtts")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        _ = parts.port
    except ValueError as error:
        raise ValueError("broker_url is no address: its host or port can't "
                         "be read") from error
    return parts
