"""The platform's own SDK, lark-oapi, as the other side of a test.

    python lark_person.py answers           hex a line: what its Frame reads;
                                            a post a line: its judge of it
    python lark_person.py client URL ID SECRET   its long connection
    python lark_person.py server            a platform that speaks its Frame
"""

import asyncio
import base64
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import lark_oapi as lark
from lark_oapi.api.im.v1 import (
    CreateMessageRequest,
    CreateMessageRequestBody,
    ListMessageRequest,
)
from lark_oapi.core.model import RawRequest
from lark_oapi.event.callback.model.p2_card_action_trigger import (
    P2CardActionTriggerResponse,
)
from lark_oapi.ws.pb.pbbp2_pb2 import Frame

OUT = os.fdopen(os.dup(1), "w")  # the SDK logs to stdout
os.dup2(2, 1)


def say(**what):
    OUT.write(json.dumps(what) + "\n")
    OUT.flush()


def show(frame):
    return {"seq": frame.SeqID, "log": frame.LogID, "service": frame.service,
            "method": frame.method, "headers": [
                [h.key, h.value] for h in frame.headers],
            "encoding": frame.payload_encoding, "type": frame.payload_type,
            "payload": frame.payload.hex(), "new": frame.LogIDNew}


def answer_lines():
    for line in sys.stdin:
        say(**(judge_post if line.startswith("{") else read_frame)(line))


def read_frame(line):
    frame = Frame()
    try:
        frame.ParseFromString(bytes.fromhex(line.strip()))
        return {"frame": show(frame),
                "again": frame.SerializeToString().hex()}
    except Exception as error:
        return {"error": type(error).__name__}


def judge_post(line):
    asked = json.loads(line)
    handler = (lark.EventDispatcherHandler
               .builder(asked["key"], asked["token"])
               .register_p2_im_message_receive_v1(
                   lambda data: say(content=data.event.message.content))
               .build())
    request = RawRequest()
    request.uri, request.headers = "/", asked["headers"]
    request.body = base64.b64decode(asked["body"])
    found = handler.do(request)
    return {"status": found.status_code, "content": found.content.decode()}


def run_client(url, app_id, secret):
    def press(data):
        say(action=data.event.action.value, by=data.event.operator.open_id)
        return P2CardActionTriggerResponse(
            {"toast": {"type": "info", "content": "from the SDK"}})
    handler = (lark.EventDispatcherHandler.builder("", "")
               .register_p2_im_message_receive_v1(lambda data: say(
                   content=data.event.message.content,
                   chat=data.event.message.chat_id,
                   by=data.event.sender.sender_id.open_id))
               .register_p2_card_action_trigger(press).build())
    client = lark.ws.Client(app_id, secret, event_handler=handler,
                            domain=url)
    threading.Thread(target=client.start, daemon=True).start()
    api = lark.Client.builder().app_id(app_id).app_secret(secret).domain(
        url).build()
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "send":
            found = api.im.v1.message.create(
                CreateMessageRequest.builder().receive_id_type("chat_id")
                .request_body(CreateMessageRequestBody.builder()
                              .receive_id(asked["chat"])
                              .msg_type("interactive")
                              .content(asked["content"])
                              .uuid(asked["uuid"]).build()).build())
            say(code=found.code, id=found.data and found.data.message_id)
        else:
            found = api.im.v1.message.list(
                ListMessageRequest.builder().container_id_type("chat")
                .container_id(asked["chat"]).page_size(50).build())
            say(code=found.code, items=[
                [m.message_id, m.msg_type, m.sender.id, m.body.content]
                for m in found.data.items])


class Platform(BaseHTTPRequestHandler):
    port = 0

    def do_POST(self):
        body = json.loads(self.rfile.read(
            int(self.headers["content-length"])))
        if self.path == "/callback/ws/endpoint":
            say(endpoint=body, locale=self.headers.get("locale"))
            self.answer({"code": 0, "msg": "ok", "data": {
                "URL": f"ws://127.0.0.1:{self.port}/x?device_id=1"
                       "&service_id=9", "ClientConfig": {
                           "ReconnectCount": -1, "ReconnectInterval": 1,
                           "ReconnectNonce": 0, "PingInterval": 60}}})
        else:
            self.answer({"code": 0, "msg": "ok", "expire": 7200,
                         "tenant_access_token": "t-1"})

    def do_GET(self):
        self.answer({"code": 0, "msg": "ok", "bot": {
            "activate_status": 2, "app_name": "c", "open_id": "ou_bot"},
            "data": {"items": [], "has_more": False}})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def make_frames(event, number, parts):
    data = json.dumps(event).encode()
    size = -(-len(data) // parts)
    for n in range(parts):
        frame = Frame()
        frame.SeqID, frame.LogID, frame.service, frame.method = n, 5, 9, 1
        for key, value in (("type", "event"), ("message_id", number),
                           ("sum", str(parts)), ("seq", str(n)),
                           ("trace_id", "t")):
            header = frame.headers.add()
            header.key, header.value = key, value
        frame.payload = data[n * size:(n + 1) * size]
        frame.LogIDNew = "x"
        yield frame.SerializeToString()


async def run_server():
    from websockets.asyncio.server import serve

    async def talk(connection):
        async def hear():
            async for data in connection:
                frame = Frame()
                frame.ParseFromString(data)
                say(frame=show(frame))
        task = asyncio.create_task(hear())
        for line in iter(lambda: asked.get_nowait() if not asked.empty()
                         else None, object()):
            if line is None:
                await asyncio.sleep(0.01)
                if task.done():
                    return
                continue
            for data in make_frames(line["event"], line["number"],
                                    line["parts"]):
                await connection.send(data)
    import queue
    asked = queue.Queue()
    async with serve(talk, "127.0.0.1", 0) as server:
        Platform.port = next(iter(server.sockets)).getsockname()[1]
        web = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        say(url=f"http://127.0.0.1:{web.server_port}")

        def read():
            for line in sys.stdin:
                asked.put(json.loads(line))
            os._exit(0)
        threading.Thread(target=read, daemon=True).start()
        await asyncio.Future()


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "answers":
        answer_lines()
    elif kind == "client":
        run_client(*rest)
    else:
        asyncio.run(run_server())
