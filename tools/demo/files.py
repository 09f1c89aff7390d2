"""Uploads the files of the demo through the API: files.py BASE_URL, with lines `PROJECT KEY` on its standard input.

The files are small and real: verified, scanned and stored. Some fail for different reasons, and some upload
sessions stay open. Then a few cargo that reference them are loaded.
"""

import base64
import hashlib
import json
import random
import re
import struct
import sys
import urllib.error
import urllib.request
import zlib
from pathlib import Path

BOUNDARY = "longshore-demo-boundary"

PAGE = Path(__file__).parents[2] / "docs" / "files.md"
"""Contains a video of one second."""

CATALOGUE = "article;name;weight\n" + "\n".join(f"{30000 + n};Fjell {n};{400 + n} g" for n in range(40))

MOVIE = base64.b64decode(re.search(r"base64 -d <<<(AAAAI\S+)", PAGE.read_text()).group(1))

LETTER = "The northern basin is to be dredged before the winter. Costs are borne by the city. "


def picture(width, height, colour):
    """A PNG with a pattern of squares."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    def row(y):
        return b"\0" + b"".join(bytes(min(255, c + (x // 16 + y // 16) % 2 * 30) for c in colour) for x in range(width))

    rows = b"".join(row(y) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def document(title, pages):
    """A PDF with a line on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(pages))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n in range(pages):
        text = f"BT /F1 18 Tf 72 720 Td ({title}, page {n + 1}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    begin = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    return out + f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{begin}\n%%EOF\n".encode()


def film(name):
    """A video of one second, with a name in the padding that players skip."""
    padding = name.encode()
    return MOVIE + struct.pack(">I", len(padding) + 8) + b"free" + padding


def virus():
    """The EICAR test file, in two halves, so that this script is not detected."""
    return rb"X5O!P%@AP[4\PZX54(P^)7CC)7}" + b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


def sample_files(project, number):
    """The files of a project: name, type, bytes, tags."""
    tone = random.Random(project)
    colour = [tone.randrange(40, 200) for _ in range(3)]
    return [
        (f"{project}-front.png", "image/png", picture(320, 240, colour), {"place": "front"}),
        (f"{project}-detail.png", "image/png", picture(160, 200, colour[::-1]), None),
        (f"{project}-contract.pdf", "application/pdf", document(f"Contract {number}", 3), {"signed": "yes"}),
        (f"{project}-articles.csv", "text/csv", f"{CATALOGUE}\n{project};;\n".encode(), None),
        (f"{project}-tour.mp4", "video/mp4", film(project), {"camera": "2"}),
        (f"{project}-notes.md", "text/markdown", f"# Notes of {project}\n\n{LETTER * 6}\n".encode(), None),
    ]


class Caller:
    def __init__(self, base, key):
        self.base, self.key = base, key

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            return json.load(error)

    def declare(self, name, media_type, data, tags=None):
        digest = hashlib.sha256(data).hexdigest()
        declaration = {"filename": name, "media_type": media_type, "size_bytes": len(data), "sha256": digest}
        return self.call("POST", "/files", declaration | ({"metadata": tags} if tags else {}))

    def upload(self, name, media_type, data, tags=None):
        session = self.declare(name, media_type, data, tags)
        grant = session.get("upload")
        if grant is None:
            return session["id"]
        fields = "".join(
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in grant["fields"].items()
        )
        last = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="it"\r\n\r\n'
        form = fields.encode() + last.encode() + data + f"\r\n--{BOUNDARY}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        urllib.request.urlopen(urllib.request.Request(grant["url"], form, headers), timeout=60).close()
        self.call("POST", f"/files/{session['id']}/complete", {})
        return session["id"]

    def load_with_image(self, file):
        image = {"type": "image", "source": {"file_id": file}}
        question = {"type": "text", "text": "Which colour has it, and is the label readable?"}
        messages = [{"role": "user", "content": [image, question]}]
        params = {"model": "example-small", "max_tokens": 64, "messages": messages}
        self.call("POST", "/cargo/load", {"params": params, "metadata": {"source": "demo"}})


def main():
    base = sys.argv[1]
    count = 0
    for number, line in enumerate(sys.stdin):
        project, key = line.split()
        caller = Caller(base, key)
        files = [caller.upload(*file) for file in sample_files(project, number)]
        caller.call("PATCH", f"/files/{files[2]}", {"pinned": True})
        for _ in range(3):
            caller.load_with_image(files[0])
        caller.declare(f"{project}-film.mp4", "video/mp4", bytes(20_000_000 + number))
        count += len(files) + 1
        if number % 3 == 0:
            caller.upload("scan.png", "image/png", LETTER.encode() + bytes([65 + number]))
        elif number % 3 == 1:
            caller.upload("attachment.txt", "text/plain", virus())
        else:
            caller.upload("cut.mp4", "video/mp4", MOVIE[:300] + bytes([number]))
        caller.call("DELETE", f"/files/{files[-1]}")
        count += 1
    print(f"{count} files")


if __name__ == "__main__":
    main()
