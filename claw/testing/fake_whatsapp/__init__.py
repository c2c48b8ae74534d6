"""The Cloud API for one number and the people who write to it.

    with FakeWhatsapp() as platform:
        platform.callback = "http://127.0.0.1:8080/whatsapp"
        ...                      # claw with platform.token, platform.url
        platform.write("hello")  # a person; posted until it is taken
        platform.answers()       # what people got

`webhooks` builds what Meta posts, `rules` says what it refuses.
"""

from claw.testing.fake_whatsapp.platform import FakeWhatsapp
from claw.testing.fake_whatsapp.webhooks import sign, wrap

__all__ = ["FakeWhatsapp", "sign", "wrap"]
