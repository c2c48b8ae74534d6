"""Which emoji a bot may react with, and what stands for the others. Pure.

Source: core.telegram.org/bots/api#reactiontypeemoji, 10.1.
"""

_EMOJI = (
    "❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 "
    "❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 "
    "🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 "
    "🤷‍♂ 🤷 🤷‍♀ 😡")
_ALLOWED = frozenset(_EMOJI.split())
_INSTEAD = {"✅": "👍", "⚠": "🤔", "❌": "👎", "⏳": "👀", "🚫": "👎"}


def find_emoji(emoji: str) -> str | None:
    """What a bot may use for this; None where nothing fits."""
    bare = emoji.replace("\ufe0f", "").strip()
    return bare if bare in _ALLOWED else _INSTEAD.get(bare)
