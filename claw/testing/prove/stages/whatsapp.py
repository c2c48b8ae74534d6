"""WhatsApp, for a proof."""

from claw.testing.fake_whatsapp import FakeWhatsapp
from claw.testing.prove.stages import HERE, PostedStage
from claw.testing.prove.verdict import MARK, Got, Said


class WhatsappStage(PostedStage[FakeWhatsapp]):
    """A number of the Cloud API; each chat is a person. Statuses tell
    afterwards what arrived: in doubt is only what never got there."""

    name = "whatsapp"
    takes_files = True
    doubts = 1
    path = "/whatsapp"

    def __init__(self, *, host: str = HERE) -> None:
        super().__init__(FakeWhatsapp(), host)

    def settings(self) -> str:
        """The tables of config.toml."""
        return (super().settings() + f'[channels_config.whatsapp]\n'
                f'phone_number_id = "{self.platform.number_id}"\n'
                f'access_token = "{self.platform.token}"\n'
                f'app_secret = "{self.platform.app_secret}"\n'
                f'verify_token = "{self.platform.verify_token}"\n'
                f'api_base_url = "{self.platform.url}"\n'
                f'allowed_users = {[_name(n) for n in range(1001, 1101)]}\n')

    def post(self, chat: int, text: str) -> Said:
        self.platform.write(text, number=f"+49170{chat}", user_id=_name(chat))
        return Said(_name(chat), text)

    def got(self) -> list[Got]:
        """What people read; a file is its content behind its note."""
        found = []
        for body in self.platform.list_sent():
            text, = self.platform.read_all([body])
            mark = MARK if text.startswith(MARK.strip()) else ""
            words = text.removeprefix(MARK.strip()).strip() if mark else text
            found.append(Got(body["recipient"], mark + words))
        return found


def _name(chat: int) -> str:
    return f"DE.{chat}"
