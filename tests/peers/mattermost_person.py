"""A person with mattermostautodriver: reads {"id", "do", ...} a line, writes
{"id", "ok"|"error"} and {"event", "data"} a line.
    python mattermost_person.py PORT TOKEN
"""

import asyncio
import json
import sys
import threading

from mattermostautodriver import TypedDriver

PORT, TOKEN = int(sys.argv[1]), sys.argv[2]


def say(what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def heard(frame):
    event = json.loads(frame)
    if "event" in event:
        say({"event": event["event"], "data": event["data"]})


driver = TypedDriver({"scheme": "http", "url": "127.0.0.1", "port": PORT,
                 "token": TOKEN, "verify": False})
driver.login()
work = {
    "me": lambda asked: driver.users.get_user("me"),
    "direct": lambda asked: driver.channels.create_direct_channel(
        asked["users"]),
    "post": lambda asked: driver.posts.create_post(**asked["post"]),
    "posts": lambda asked: driver.posts.get_posts_for_channel(
        asked["channel"]),
}


async def _listen():
    from mattermostautodriver.websocket import Websocket
    await Websocket({**driver.options, "port": str(PORT)},
                    TOKEN).connect(heard)

threading.Thread(target=lambda: asyncio.run(_listen()), daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    try:
        say({"id": asked["id"], "ok": work[asked["do"]](asked)})
    except Exception as error:
        say({"id": asked["id"], "error": {"message": str(error)}})
