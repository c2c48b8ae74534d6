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


def allowed_emoji(emoji: str) -> str | None:
    """What a bot may use for this; None where nothing fits."""
    bare = emoji.replace("\ufe0f", "").strip()
    if bare in _ALLOWED:
        return bare
    return _INSTEAD.get(bare)
