"""A callback receiver: receiver.py PORT [ADDRESS] prints each POST and answers 200."""

import json
import sys
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            shown = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
        except ValueError:
            shown = body.decode(errors="replace")
        print(f"{datetime.now():%H:%M:%S} callback to {self.path}\n{shown}\n", flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    port = int(sys.argv[1])
    address = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
    print(f"listening on http://{address}:{port}/\n", flush=True)
    ThreadingHTTPServer((address, port), Receiver).serve_forever()


if __name__ == "__main__":
    main()
