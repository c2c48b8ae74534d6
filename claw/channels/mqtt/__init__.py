"""MQTT channel: version 5, QoS 1, over asyncio's own streams.

One message walks: `link` (one connection) with `packets` (the wire), then
`listener` (session, subscriptions, PUBACK after the commit), `intake` (who
may) with `payload` (what a message says) and `deliveries` (which one it
is), then out through `outgoing` (parts, properties). `topics` says which
topics match and where an answer may go, `reasons` what a broker's codes
mean.

The wire is our own. aiomqtt has no manual acknowledgement and drops the
reason codes of PUBACK; the client below it (paho-mqtt 2.2) ends the
connection on a user property with U+FEFF in it, which brokers pass on: a
single message of QoS 1, delivered again after each reconnect, would stop
the channel for good.
Source: docs.oasis-open.org/mqtt/mqtt/v5.0, OASIS Standard of 2019-03-07.
"""

from claw.channels.mqtt.channel import MqttChannel
from claw.channels.mqtt.settings import MqttSettings

__all__ = ["MqttChannel", "MqttSettings"]
