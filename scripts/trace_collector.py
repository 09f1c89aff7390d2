"""Receives the spans and the callback of one traced cargo, for the picture in docs/tracing.md.

    trace_collector.py PORT FILE

Appends each export (POST /v1/traces) to FILE as a line of JSON. Answers the first callback with 500, so that the picture
has two attempts, and the others with 200.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    callbacks = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = 200
        if self.path == "/v1/traces":
            with Path(sys.argv[2]).open("a") as file:
                file.write(json.dumps(json.loads(body)) + "\n")
        else:
            Collector.callbacks += 1
            status = 500 if Collector.callbacks == 1 else 200
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
