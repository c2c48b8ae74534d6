"""Discord's gateway: what claw.channels.gateway is told of it."""

from collections.abc import Callable

from claw.channels.discord import frames
from claw.channels.discord.session import Session
from claw.channels.gateway import Gateway
from claw.core.errors import ClawError
from claw.net.websocket import SocketClosedError, WebSocket

QUERY = "/?v=10&encoding=json&compress=zlib-stream"


def open_gateway(socket: WebSocket, session: Session, token: str, *,
                 heard: Callable[[], None], rng: Callable[[], float]
                 ) -> Gateway:
    def explain(error: SocketClosedError) -> ClawError:
        if frames.ends_session(error.code):
            session.forget()
        return frames.close_error(error.code) or error

    place = session.place
    return Gateway(
        "Discord", socket, session, heard=heard, rng=rng, explain=explain,
        feed=frames.Inflater().feed, first=lambda resumes: (
            frames.resume(token, place.session_id, place.sequence)
            if resumes else frames.identify(token)))
