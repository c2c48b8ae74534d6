"""Who we are at which broker, and connections to it.

What only sends has a name of its own: a second client with our client_id
would throw the listener out.
"""

import ssl
from collections.abc import Callable
from secrets import token_hex

from claw.channels.mqtt.link import Link
from claw.channels.mqtt.packets import Login
from claw.channels.mqtt.settings import Address, MqttSettings, read_address
from claw.core.channel import KeepsMarks
from claw.core.errors import ConfigError
from claw.net.remote import load_certificates

SESSION_S = 7 * 86_400
_TABLE = "channels_config.mqtt"
_CLIENT_ID = "client_id"  # the mark


class Account:
    """Makes connections; each is the caller's to open and to close."""

    def __init__(self, settings: MqttSettings, marks: KeepsMarks) -> None:
        self._settings = settings
        self._marks = marks

    @property
    def address(self) -> Address:
        """Raises ConfigError."""
        if not self._settings.broker_url:
            raise ConfigError(f"{_TABLE} has no broker_url",
                              hint=f"claw config set {_TABLE}.broker_url "
                                   "mqtts://HOST")
        return read_address(self._settings.broker_url)

    @property
    def client_id(self) -> str:
        """Drawn once where the settings have none."""
        if self._settings.client_id:
            return self._settings.client_id
        known = self._marks.get(_CLIENT_ID)
        if not known:
            known = f"claw-{token_hex(8)}"
            self._marks.set(_CLIENT_ID, known)
        return known

    def make_session(self, heard: Callable[[], None],
                     proved: Callable[[float], None]) -> Link:
        """A connection to what the broker keeps for us."""
        return self._make(self.client_id, SESSION_S, heard, proved)

    def make_other(self) -> Link:
        """A connection beside it, which leaves nothing behind."""
        return self._make(f"{self.client_id}-{token_hex(4)}", 0)

    def make_probe(self) -> Link:
        """One beside it that asks for what the session asks for: close it
        with `forget`."""
        return self._make(f"{self.client_id}-{token_hex(4)}", SESSION_S)

    def _make(self, client_id: str, session_s: int,
              *hears: Callable[..., None]) -> Link:
        address, settings = self.address, self._settings
        login = Login(client_id, settings.username, settings.password,
                      keep_alive_s=settings.keep_alive_secs,
                      session_s=session_s)
        return Link(address, login,
                    load_tls(settings) if address.secure else None, *hears)


def load_tls(settings: MqttSettings) -> ssl.SSLContext:
    """Raises ConfigError for files that can't be read."""
    key = "ca_file"
    try:
        context = (ssl.create_default_context(cafile=settings.ca_file)
                   if settings.ca_file else load_certificates())
        if settings.cert_file and settings.key_file:
            key = "cert_file or key_file"
            # A key that needs a passphrase would ask for it on the terminal.
            context.load_cert_chain(settings.cert_file, settings.key_file,
                                    password=_no_passphrase)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise ConfigError(
            f"{_TABLE}.{key} can't be read: {why}",
            hint="they are files with PEM text; a key has no passphrase"
        ) from error
    return context


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase")
