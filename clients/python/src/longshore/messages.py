"""Short forms of messages."""

from longshore.types.requests import DocumentBlock, ImageBlock, Message, TextBlock, VideoBlock


def user(content: "str | list[TextBlock | ImageBlock | DocumentBlock | VideoBlock]") -> Message:
    """A message of the user: a text, or blocks."""
    return {"role": "user", "content": [*content] if isinstance(content, list) else content}


def assistant(text: str) -> Message:
    """An earlier answer, for a conversation that goes on."""
    return {"role": "assistant", "content": text}


def text(value: str) -> TextBlock:
    return {"type": "text", "text": value}


def image(file_id: str) -> ImageBlock:
    return {"type": "image", "source": {"file_id": file_id}}


def document(file_id: str) -> DocumentBlock:
    return {"type": "document", "source": {"file_id": file_id}}


def video(file_id: str) -> VideoBlock:
    return {"type": "video", "source": {"file_id": file_id}}
