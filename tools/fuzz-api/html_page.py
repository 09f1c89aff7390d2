"""Reads a page of the dashboard: its links, its forms, and whether its HTML is well formed."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}

OPTIONAL_END = {"p", "li", "dt", "dd", "option", "tr", "td", "th", "thead", "tbody"}


@dataclass
class Form:
    method: str
    action: str
    fields: dict = field(default_factory=dict)

    def has_csrf(self):
        return "csrf" in self.fields


class HtmlPage(HTMLParser):
    def __init__(self, path, text):
        super().__init__(convert_charrefs=True)
        self.path = path
        self.links, self.forms, self.faults = [], [], []
        self.open_tags = []
        self.form = self.text_field = self.select = None
        self.feed(text)
        self.close()
        left = [tag for tag in self.open_tags if tag not in OPTIONAL_END]
        if left:
            self.faults.append(f"<{left[-1]}> is not closed")

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open_tags.append(tag)
        self.read_tag(tag, {name: value or "" for name, value in attrs})

    def handle_startendtag(self, tag, attrs):
        self.read_tag(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag):
        if tag == "form":
            self.form = None
        if tag in ("textarea", "option"):
            self.text_field = None
        if tag == "select":
            self.select = None
        self.close_tag(tag)

    def close_tag(self, tag):
        if tag in VOID:
            return
        while self.open_tags and self.open_tags[-1] != tag and self.open_tags[-1] in OPTIONAL_END:
            self.open_tags.pop()
        if self.open_tags and self.open_tags[-1] == tag:
            self.open_tags.pop()
        elif tag not in OPTIONAL_END:
            inside = f"<{self.open_tags[-1]}>" if self.open_tags else "nothing"
            self.faults.append(f"</{tag}> closes {inside}")

    def read_tag(self, tag, attributes):
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag == "form":
            action = attributes.get("action") or self.path
            self.form = Form(attributes.get("method", "get").lower(), action.split("#")[0])
            self.forms.append(self.form)
        elif self.form is not None:
            self.read_field(tag, attributes)

    def read_field(self, tag, attributes):
        name = attributes.get("name")
        if tag == "input" and name and attributes.get("type") != "file":
            self.form.fields[name] = attributes.get("value", "")
        elif tag == "textarea" and name:
            self.form.fields[name] = ""
            self.text_field = name
        elif tag == "select" and name:
            self.form.fields[name] = ""
            self.select = name
        elif tag == "option" and self.select and (not self.form.fields[self.select] or "selected" in attributes):
            self.form.fields[self.select] = attributes.get("value", "")
            # Without a value, the text is the value.
            self.text_field = None if "value" in attributes else self.select

    def handle_data(self, data):
        if self.form is not None and self.text_field:
            self.form.fields[self.text_field] += data
