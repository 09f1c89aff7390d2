"""A browser without scripts: cookies, sign-in, and requests from a chosen loopback address."""

import http.client
import itertools
import re
import sys
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from html_page import HtmlPage

OWNER = {"name": "Marta Lindgren", "email": "marta@operator.example", "password": "seven grey seagulls"}

COLLEAGUE = {"name": "Jonas Lind", "email": "jonas@operator.example", "password": "seven grey seagulls"}

FUZZ_ADDRESS = "127.0.2.1"
"""Failed sign-ins are counted by source. All posts have this one, and each sign-in its own."""


URL_CHARACTERS = "%/?#[]@!$&'()*+,;=:~"
"""Already encoded; the rest of a link is not."""


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    def is_html(self):
        return self.headers.get("content-type", "").startswith("text/html")

    def location(self):
        return self.headers.get("location", "")

    def page(self, path):
        return HtmlPage(path, self.body.decode(errors="replace"))


class DashboardClient:
    def __init__(self, base):
        self.base = base
        self.host, self.port = urlsplit(base).hostname, urlsplit(base).port
        self.cookies = {}
        self.csrf, self.password = "", OWNER["password"]
        self.sign_in_addresses = (f"127.0.{high}.{low}" for high in itertools.count(3) for low in range(1, 255))

    def request(self, method, path, body=None, headers=(), address=FUZZ_ADDRESS):
        """Status 0 is no answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60, source_address=(address, 0))
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            connection.request(method, quote(path, safe=URL_CHARACTERS), body, {"Cookie": cookie} | dict(headers))
            response = connection.getresponse()
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, {}, repr(error).encode())
        finally:
            connection.close()
        for line in response.headers.get_all("Set-Cookie") or []:
            name, value = line.split(";")[0].split("=", 1)
            self.cookies[name] = value
        return answer

    def post(self, path, pairs, headers=(), address=FUZZ_ADDRESS):
        body = urlencode(pairs, errors="surrogatepass").encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.request("POST", path, body, kind | dict(headers), address)

    def set_up(self, link):
        """Creates the first operator, an organization of theirs and a project."""
        fields = OWNER | {"pass": link.split("pass=")[1], "organization": "Fuzz forms", "project": "forms"}
        answer = self.post("/dashboard/setup", list(fields.items()), address=next(self.sign_in_addresses))
        if answer.status != 303:
            sys.exit(f"the setup was answered with {answer.status}: {answer.body[:2000]}")
        self.read_csrf()
        self.add_colleague()

    def add_colleague(self):
        """A second user, whom the pages about people need."""
        organizations = self.request("GET", "/dashboard/organizations").page("/dashboard/organizations")
        members = next(link for link in organizations.links if "/organization/org_" in link) + "/members"
        invitation = [("csrf", self.csrf), ("email", COLLEAGUE["email"]), ("role", "developer")]
        page = self.post(f"{members}/invite", invitation).body.decode()
        fields = COLLEAGUE | {"pass": re.search(r"/dashboard/invitation\?pass=([\w-]+)", page)[1]}
        signed_out = DashboardClient(self.base)
        answer = signed_out.post("/dashboard/invitation", list(fields.items()), address=next(self.sign_in_addresses))
        if answer.status not in (200, 303):
            sys.exit(f"the invitation was answered with {answer.status}: {answer.body[:2000]}")

    def sign_in(self):
        fields = [("email", OWNER["email"]), ("password", self.password)]
        answer = self.post("/dashboard/sign-in", fields, address=next(self.sign_in_addresses))
        if answer.status != 303:
            sys.exit(f"the sign-in was answered with {answer.status}: {answer.body[:2000]}")
        self.read_csrf()

    def sign_in_again(self):
        """Only if a post has ended the session."""
        if self.request("GET", "/dashboard/account").status != 200:
            self.sign_in()

    def adopt_session(self, password):
        """After a post that changed the cookies: a link may have set another password, or be for another person."""
        answer = self.request("GET", "/dashboard/account")
        if answer.status != 200 or OWNER["email"] not in answer.body.decode(errors="replace"):
            self.sign_in()
            return
        self.password = password or self.password
        self.read_csrf()

    def read_csrf(self):
        account = self.request("GET", "/dashboard/account").body.decode(errors="replace")
        self.csrf = re.search(r'name="csrf" value="([^"]+)"', account)[1]
