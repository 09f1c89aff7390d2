"""Finds every form of the dashboard and sends it with fields that no browser sends."""

import random
import re
import sys
from collections import Counter
from urllib.parse import urlencode, urljoin

import dashboard_routes
from dashboard_client import OWNER, DashboardClient
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
    # Only these can be changed and deleted.
    f"/dashboard/project/{PROJECTS[0]}/files?status=ready",
]

STATUSES = {200, 303, 400, 401, 403, 404, 409, 413, 415, 422, 429}
REFUSED = {401, 403, 404, 413, 429}
"""A post without the token of the session changes nothing."""

PAGES_WITH_FORMS = {200, 409, 422}

POSTS_PER_CRAWL = 250
MAX_PAGES = 400
PAGES_PER_KIND = 4
"""Of cargo, groups and others with an id: what a page has depends on their status."""

MIN_FORMS = 85
"""With fewer, the crawl did not find the pages."""

TYPED = OWNER | {
    "current": OWNER["password"], "proof": OWNER["password"], "slug": "typed", "reason": "typed", "retention": "30",
    "message": "typed",
}
"""What a person types into fields that are empty."""

MAX_FINDINGS = 20

ENDING = re.compile(r"/(delete|cancel|deactivate|disable|withdraw|revoke|end|stop|sign-out)$")
PROJECT_ENDING = re.compile(r"/settings/deactivate$")
ID = re.compile(r"\b([a-z]{2,5})_[0-9a-f]{32}\b")
LINK = re.compile(r"/dashboard/(?:invitation|reset)\?pass=[\w-]+")
"""Links for other people, which pages show once and as text."""


class FormPosts:
    def __init__(self, base, seed):
        self.base, self.client = base, DashboardClient(base)
        self.random = random.Random(seed)
        self.values = FormValues(self.random)
        self.found_links = {}
        self.forms, self.pages = {}, set()
        self.passed = set()
        self.posts = 0
        self.findings = []

    def run(self, wanted, setup_link):
        """Sends this many posts that no browser sends."""
        self.client.set_up(setup_link)
        self.crawl()
        self.post_as_shown()
        end = self.posts + wanted
        found = {form.action for form in self.forms.values() if form.method == "post"}
        for form in dashboard_routes.forms_without_page(PROJECTS[0], self.a_file()):
            self.add_form(form)
        while self.posts < end and len(self.findings) < MAX_FINDINGS:
            self.post_forms(min(POSTS_PER_CRAWL, end - self.posts))
            print(f"{self.posts:,} posts to {len(self.forms)} forms of {len(self.pages)} pages", file=sys.stderr)
            # What was stored is shown now.
            self.crawl()
        if len(self.forms) < MIN_FORMS:
            self.find("the crawl", f"found {len(self.forms)} forms only: {sorted(self.forms)}")
        for fault in dashboard_routes.find_faults(found, self.passed):
            self.find("the posts", fault)

    def crawl(self):
        """Opens one page of each kind, or some if it has an id, and keeps the newest example of each form."""
        waiting, opened, kinds = START + list(self.found_links.values()), set(), Counter()
        while waiting and len(opened) < MAX_PAGES:
            path = waiting.pop(0)
            kind = page_kind(path)
            if path in opened or kinds[kind] >= (PAGES_PER_KIND if ID.search(path) else 1) or not self.is_page(path):
                continue
            opened.add(path)
            kinds[kind] += 1
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
        self.pages |= set(kinds)

    def open_link(self, path):
        """Signed in and signed out: an invitation asks people without a session for a name and a password."""
        for client in (self.client, DashboardClient(self.base)):
            page = self.judge(f"GET {path}", client.request("GET", path), path)
            if page is not None:
                self.add_forms(path, page)

    def is_page(self, path):
        is_other = path.startswith("/dashboard/assets/") or path.startswith("/dashboard/live")
        return (path == "/dashboard" or path.startswith(("/dashboard/", "/dashboard?"))) and not is_other

    def add_forms(self, path, page):
        for form in page.forms:
            form.action = urljoin(path, form.action)
            self.add_form(form)

    def add_form(self, form):
        self.forms[f"{form.method} {page_kind(form.action)} {' '.join(sorted(form.fields))}"] = form

    def a_file(self):
        """The id of a file that a page has shown."""
        actions = [form.action for form in self.forms.values()]
        files = [id[0] for id in map(re.compile(r"file_[0-9a-f]{32}").search, actions) if id]
        return files[0] if files else f"file_{'0' * 32}"

    def post_as_shown(self):
        """Every form once, as a person sends it. Some answers have forms that no other page has."""
        sent = set()
        while new := [key for key in self.forms if key not in sent]:
            # What a form ends, others may change before. An inactive project takes no changes at all.
            for key in sorted(new, key=lambda key: ending_rank(self.forms[key].action)):
                if len(self.findings) >= MAX_FINDINGS:
                    return
                sent.add(key)
                form = self.forms[key]
                pairs = [(name, value or TYPED.get(name, "")) for name, value in form.fields.items() if name != "csrf"]
                self.submit(form, pairs, "valid")
        print(f"{self.posts:,} posts as shown, {len(self.forms)} forms of {len(self.pages)} pages", file=sys.stderr)

    def post_forms(self, count):
        """Every form in turn, in a random order."""
        order = []
        for _ in range(count):
            if not order:
                order = list(self.forms.values())
                self.random.shuffle(order)
            self.send(order.pop())
            if len(self.findings) >= MAX_FINDINGS:
                return

    def send(self, form):
        self.submit(form, self.values.fields(form), self.values.csrf_mode(form))

    def submit(self, form, pairs, mode):
        self.posts += 1
        what = f"{form.method.upper()} {form.action} ({mode} token) {short(pairs)}"
        if form.method == "get":
            query = urlencode(pairs, errors="surrogatepass")
            path = f"{form.action.split('?')[0]}?{query}"
            self.read_answer(what, self.client.request("GET", path), form.action)
            return
        headers = {"Origin": "http://elsewhere.example"} if mode == "cross-site" else {}
        token = {"valid": self.client.csrf, "cross-site": self.client.csrf, "wrong": "x" * 43, "empty": ""}.get(mode)
        if form.has_csrf() and token is not None:
            pairs.insert(self.random.randrange(len(pairs) + 1), ("csrf", token))
        cookies = dict(self.client.cookies)
        answer = self.client.post(form.action, pairs, headers)
        if self.client.cookies != cookies:
            is_reset = form.action.startswith("/dashboard/reset")
            self.client.adopt_session(dict(pairs).get("password") if is_reset else None)
        page = self.read_answer(what, answer, form.action)
        is_sign_in = answer.location().startswith("/dashboard/sign-in")
        is_confirm = answer.location().startswith("/dashboard/confirm")
        if mode != "valid" and answer.status not in REFUSED:
            self.find(what, f"{answer.status} without a valid token")
        if mode == "valid" and answer.status not in REFUSED and not is_confirm:
            self.passed.add(form.action)
        if answer.status == 401 or is_sign_in:
            self.client.sign_in_again()
        elif is_confirm:
            # The password was entered too long ago for this form.
            self.client.sign_in()
        elif answer.status == 303 and page is None:
            path = urljoin(form.action, answer.location()).split("#")[0]
            if self.is_page(path):
                self.read_answer(f"GET {path} after {what}", self.client.request("GET", path), path)

    def read_answer(self, what, answer, path):
        """Judges it and keeps its forms."""
        page = self.judge(what, answer, path)
        if page is not None and answer.status in PAGES_WITH_FORMS:
            self.add_forms(path, page)
        return page

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
            if self.found_links.get(page_kind(link)) != link:
                self.found_links[page_kind(link)] = link
                # At once: the next post may revoke it.
                self.open_link(link)
        page = answer.page(path)
        for fault in page.faults[:1]:
            self.find(what, f"the page is not well formed: {fault}")
        return page

    def find(self, what, why):
        finding = f"{what}: {why}"
        print(finding, file=sys.stderr)
        self.findings.append(finding)


def ending_rank(action):
    return bool(ENDING.search(action)) + bool(PROJECT_ENDING.search(action))


def page_kind(path):
    """The path without ids and without the values of its query. Projects that a post created are of one kind."""
    path, _, query = ID.sub(r"\1", path).partition("?")
    path = re.sub(rf"^/dashboard/project/(?!(?:{'|'.join(PROJECTS)})(?:/|$))[^/]+", "/dashboard/project/other", path)
    names = sorted(part.split("=")[0] for part in query.split("&") if part)
    return "?".join([path, *names])


def short(pairs):
    return str([(name, value if len(value) <= 80 else f"{value[:40]}… ({len(value)})") for name, value in pairs])
