"""Files that a bot sends: uploaded, by URL, or known by their file id."""

from typing import Any

from claw.testing.fake_telegram.errors import ApiError, bad
from claw.testing.fake_telegram.model import Json, World
from claw.testing.fake_telegram.params import Params, Upload

_UPLOAD_LIMIT = 50 * 1024 * 1024
_PHOTO_LIMIT = 10 * 1024 * 1024

# method -> (parameter, folder, extension, further fields of the object)
MEDIA: dict[str, tuple[str, str, str, Json]] = {
    "sendPhoto": ("photo", "photos", "jpg", {"width": 90, "height": 90}),
    "sendDocument": ("document", "documents", "bin", {}),
    "sendVideo": ("video", "videos", "mp4",
                  {"width": 320, "height": 240, "duration": 1}),
    "sendAudio": ("audio", "music", "mp3", {"duration": 1}),
    "sendVoice": ("voice", "voice", "oga", {"duration": 1}),
}


def media_fields(world: World, params: Params, method: str) -> Json:
    """The field of the Message that holds the file."""
    name, folder, extension, more = MEDIA[method]
    data, file_name, mime = _content(world, params, name)
    if method == "sendPhoto" and len(data) > _PHOTO_LIMIT:
        raise bad("file of size too big for a photo")
    stored = world.add_file(data, f"{folder}/{file_name or 'file'}"
                            if "." in file_name
                            else f"{folder}/file.{extension}")
    shape: Json = {"file_id": stored.file_id,
                   "file_unique_id": f"u{stored.file_id}",
                   "file_size": len(data), **more}
    if method == "sendPhoto":
        return {"photo": [shape]}
    if mime:
        shape["mime_type"] = mime
    if file_name and method != "sendVoice":
        shape["file_name"] = file_name
    return {name: shape}


def _content(world: World, params: Params,
             name: str) -> tuple[bytes, str, str]:
    """(bytes, file name, MIME type) of what is to be sent."""
    given: Any = params.get(name)
    if isinstance(given, str) and given.startswith("attach://"):
        given = params.get(given.removeprefix("attach://"))
    if given is None or given == "":
        raise bad(f"there is no {name} in the request")
    if isinstance(given, Upload):
        if not given.data:
            raise bad("file must be non-empty")
        if len(given.data) > _UPLOAD_LIMIT:
            raise ApiError(413, "Request Entity Too Large")
        return given.data, given.file_name, given.mime_type
    if not isinstance(given, str):
        raise bad("wrong file identifier/HTTP URL specified")
    if given.startswith(("http://", "https://")):
        return b"", given.rpartition("/")[2].partition("?")[0], ""
    if given not in world.files:
        raise bad("wrong file identifier/HTTP URL specified")
    known = world.files[given]
    return known.data, known.path.rpartition("/")[2], ""
