"""Where the keys of the gateway are: in the home, out of the agent's reach.

A command of the agent's may write in the workspace; a key that it made
there would let it in.
"""

from pathlib import Path

from claw.config.places import Places
from claw.config.tree import Tree
from claw.gateway.keys import KeyStore
from claw.gateway.settings import GatewaySettings

# Where the doctor asks whether an address leads to this home.
NONCE_PATH = "/nonce/"


def keys_path(places: Places) -> Path:
    """The file of the keys."""
    return places.home / "gateway.db"


def open_keys(tree: Tree) -> KeyStore:
    """The keys of a home; nothing is made by looking."""
    settings = tree.decode("gateway", GatewaySettings)
    return KeyStore(keys_path(tree.places), settings.paired_tokens)
