"""Finds every form of the dashboard and sends it with fields that no browser sends."""

import random
import re
import sys
from urllib.parse import urlencode, urljoin

from dashboard_client import DashboardClient
from form_values import MARKUP, FormValues

PROJECTS = ["fuzz", "forms"]
"""The project of the API's cases, with files and cargo, and an empty one."""

START = [
    "/dashboard",
    "/dashboard/account",
    "/dashboard/organizations",
    "/dashboard/operations",
    "/dashboard/confirm",
    "/dashboard/second-factor",
    "/dashboard/sign-in",
    "/dashboard/sign-in/code",
]

STATUSES = {200, 303, 400, 401, 403, 404, 409, 413, 415, 422, 429}
REFUSED = {401, 403, 404, 413, 429}
"""A post without the token of the session changes nothing."""

POSTS_PER_CRAWL = 250
MOST_PAGES = 200
LEAST_FORMS = 20
"""With fewer, the crawl did not find the pages."""

MOST_FINDINGS = 20

ID = re.compile(r"\b([a-z]{2,5})_[0-9a-f]{32}\b")
LINK = re.compile(r"/dashboard/(?:invitation|reset)\?pass=[\w-]+")
"""Links for other people, which pages show once and as text."""


class FormPosts:
    def __init__(self, base, seed):
        self.client = DashboardClient(base)
        self.random = random.Random(seed)
        self.values = FormValues(self.random)
        self.found_links = {}
        self.forms, self.pages = {}, set()
        self.posts = 0
        self.findings = []

    def run(self, wanted, setup_link):
        self.client.set_up(setup_link)
        while self.posts < wanted and len(self.findings) < MOST_FINDINGS:
            self.crawl()
            self.post_forms(min(POSTS_PER_CRAWL, wanted - self.posts))
            print(f"{self.posts:,} posts to {len(self.forms)} forms of {len(self.pages)} pages", file=sys.stderr)
        # What was stored is shown now.
        self.crawl()
        if len(self.forms) < LEAST_FORMS:
            self.find("the crawl", f"found {len(self.forms)} forms only: {sorted(self.forms)}")

    def crawl(self):
        """Opens one page of each kind, and keeps the newest example of each form."""
        waiting, seen = START + list(self.found_links.values()), set()
        while waiting and len(seen) < MOST_PAGES:
            path = waiting.pop(0)
            kind = page_kind(path)
            if kind in seen or not self.is_page(path):
                continue
            seen.add(kind)
            answer = self.client.request("GET", path)
            if answer.location().startswith("/dashboard/sign-in?"):
                self.client.sign_in()
                answer = self.client.request("GET", path)
            page = self.judge(f"GET {path}", answer, path)
            if answer.status == 303:
                waiting.append(urljoin(path, answer.location()))
            if page is not None:
                waiting.extend(urljoin(path, link).split("#")[0] for link in page.links)
                self.add_forms(path, page)
        self.pages |= seen

    def is_page(self, path):
        is_other = path.startswith("/dashboard/assets/") or path.startswith("/dashboard/live")
        return (path == "/dashboard" or path.startswith(("/dashboard/", "/dashboard?"))) and not is_other

    def add_forms(self, path, page):
        for form in page.forms:
            form.action = urljoin(path, form.action)
            key = f"{form.method} {page_kind(form.action)} {' '.join(sorted(form.fields))}"
            self.forms[key] = form

    def post_forms(self, count):
        """Every form in turn, in a random order."""
        order = []
        for _ in range(count):
            if not order:
                order = list(self.forms.values())
                self.random.shuffle(order)
            self.send(order.pop())
            if len(self.findings) >= MOST_FINDINGS:
                return

    def send(self, form):
        self.posts += 1
        pairs, mode = self.values.fields(form), self.values.csrf_mode(form)
        what = f"{form.method.upper()} {form.action} ({mode} token) {short(pairs)}"
        if form.method == "get":
            query = urlencode(pairs, errors="surrogatepass")
            self.judge(what, self.client.request("GET", f"{form.action.split('?')[0]}?{query}"), form.action)
            return
        headers = {"Origin": "http://elsewhere.example"} if mode == "cross-site" else {}
        token = {"valid": self.client.csrf, "cross-site": self.client.csrf, "wrong": "x" * 43, "empty": ""}.get(mode)
        if form.has_csrf() and token is not None:
            pairs.insert(self.random.randrange(len(pairs) + 1), ("csrf", token))
        answer = self.client.post(form.action, pairs, headers)
        self.judge(what, answer, form.action)
        if mode != "valid" and answer.status not in REFUSED:
            self.find(what, f"{answer.status} without a valid token")
        if answer.status == 401 or answer.location().startswith("/dashboard/sign-in"):
            self.client.sign_in_again()
        elif answer.location().startswith("/dashboard/confirm"):
            # The password was entered too long ago for this form.
            self.client.sign_in()

    def judge(self, what, answer, path):
        """The page, if the answer is one."""
        if answer.status not in STATUSES:
            self.find(what, f"answered with {answer.status} {answer.body[:200]}")
        if not answer.is_html():
            return None
        text = answer.body.decode(errors="replace")
        for markup in MARKUP:
            if markup in text:
                self.find(what, f"the page contains {markup} unescaped")
        for link in LINK.findall(text):
            self.found_links[page_kind(link)] = link
        page = answer.page(path)
        for fault in page.faults[:1]:
            self.find(what, f"the page is not well formed: {fault}")
        return page

    def find(self, what, why):
        finding = f"{what}: {why}"
        print(finding, file=sys.stderr)
        self.findings.append(finding)


def page_kind(path):
    """The path without ids and without the values of its query. Projects that a post created are of one kind."""
    path, _, query = ID.sub(r"\1", path).partition("?")
    path = re.sub(rf"^/dashboard/project/(?!(?:{'|'.join(PROJECTS)})(?:/|$))[^/]+", "/dashboard/project/other", path)
    names = sorted(part.split("=")[0] for part in query.split("&") if part)
    return "?".join([path, *names])


def short(pairs):
    return str([(name, value if len(value) <= 80 else f"{value[:40]}… ({len(value)})") for name, value in pairs])
