"""A proxy that loses answers: cutting_proxy.py LISTEN_PORT SERVER_PORT [SHARE [SEED]].

It forwards requests to a server on this machine. After the body of a share of the requests with a body was
sent, it cuts the client's connection: at once, or when the server has answered. So the client cannot know
whether the server did what it asked.
"""

import asyncio
import random
import re
import sys

MAX_HEAD_BYTES = 64 << 10
CHUNK_BYTES = 64 << 10
DEFAULT_SHARE = 0.2
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
CONNECTION = re.compile(rb"\r\nconnection:[^\r]*", re.IGNORECASE)


class CuttingProxy:
    """One connection to the server for each request."""

    def __init__(self, server_port: int, share: float, seed: int) -> None:
        self.server_port = server_port
        self.share = share
        self.random = random.Random(seed)
        self.requests = 0
        self.cuts = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            found = CONTENT_LENGTH.search(head)
            body = await reader.readexactly(int(found[1])) if found else b""
            await self.forward(head, body, writer)
        except (OSError, asyncio.IncompleteReadError):
            # A side closed its connection: the other one sees it.
            pass
        finally:
            writer.close()

    async def forward(self, head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        is_cut = bool(body) and self.random.random() < self.share
        waits_for_answer = self.random.random() < 0.5
        answers, server = await asyncio.open_connection("127.0.0.1", self.server_port)
        try:
            # Then the end of the answer is the end of the connection.
            server.write(CONNECTION.sub(b"", head)[:-2] + b"Connection: close\r\n\r\n" + body)
            await server.drain()
            if is_cut:
                self.cuts += 1
                print(f"cut {self.cuts} of {self.requests}", flush=True)
                if waits_for_answer:
                    await answers.read()
                return
            while chunk := await answers.read(CHUNK_BYTES):
                writer.write(chunk)
                await writer.drain()
        finally:
            server.close()


async def main() -> None:
    listen_port, server_port, *rest = sys.argv[1:]
    share = float(rest[0]) if rest else DEFAULT_SHARE
    seed = int(rest[1]) if len(rest) > 1 else 1
    proxy = CuttingProxy(int(server_port), share, seed)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", int(listen_port), limit=MAX_HEAD_BYTES)
    print(f"listening on http://127.0.0.1:{listen_port}", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    asyncio.run(main())
