"""A receiver of callbacks for scenarios. It accepts signed ones only."""

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from longshore import callbacks
from longshore.types import ResultCallback

TIMEOUT_SECONDS = 60


class Receiver:
    """Listens until the process ends."""

    def __init__(self) -> None:
        received: dict[str, ResultCallback] = {}
        arrived = threading.Condition()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    secret = os.environ["SCENARIO_SIGNING_SECRET"]
                    callback = callbacks.verify(body, dict(self.headers), secret)
                except callbacks.InvalidSignature as error:
                    self.send_error(401, error.reason)
                    return
                with arrived:
                    received[callback.cargo_id] = callback
                    arrived.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/hook"
        self._received = received
        self._arrived = arrived

    def wait(self, cargo_id: str) -> ResultCallback:
        with self._arrived:
            assert self._arrived.wait_for(lambda: cargo_id in self._received, TIMEOUT_SECONDS), "no signed callback"
            return self._received[cargo_id]
