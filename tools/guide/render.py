"""One document as HTML: headings with anchors, links within the guide, and its text for the search."""

import posixpath
import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from index import output_path, resolve


@dataclass
class SearchRow:
    """One heading with the text below it."""

    heading: str
    anchor: str
    text: str = ""


@dataclass
class Page:
    path: str
    title: str
    html: str
    rows: list[SearchRow]
    pictures: set[str] = field(default_factory=set)


class Renderer:
    def __init__(self, root: Path, pages: set[str], source_url: str | None):
        self.root = root
        self.faults: list[str] = []
        self.pages = pages
        self.source_url = source_url
        # Some pages have comments that scripts write between.
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self.markdown.add_render_rule("table_open", lambda *_: '<div class="table"><table>')
        self.markdown.add_render_rule("table_close", lambda *_: "</table></div>")

    def render(self, path: str, text: str) -> Page:
        tokens = self.markdown.parse(text)
        page = Page(path, path, "", [])
        anchors: dict[str, int] = {}
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                self.open_heading(page, token, tokens[index + 1], anchors)
            elif token.type == "inline":
                self.point_links(page, token)
                is_heading = tokens[index - 1].type == "heading_open"
                if page.rows and not is_heading:
                    page.rows[-1].text += plain_text(token) + " "
            elif token.type == "fence" and page.rows:
                page.rows[-1].text += token.content + " "
        page.html = self.markdown.renderer.render(tokens, self.markdown.options, {})
        return page

    def open_heading(self, page: Page, token: Token, inline: Token, anchors: dict[str, int]) -> None:
        heading = plain_text(inline)
        if token.tag == "h1":
            page.title = heading
        anchor = slug(heading)
        count = anchors.get(anchor, 0)
        anchors[anchor] = count + 1
        # A repeated heading gets a number, as on the usual forges.
        anchor = f"{anchor}-{count}" if count else anchor
        token.attrSet("id", anchor)
        page.rows.append(SearchRow(heading, anchor))
        if token.tag != "h1":
            link = Token("html_inline", "", 0)
            link.content = f' <a class="permalink" href="#{anchor}" aria-label="Link to this section">#</a>'
            inline.children.append(link)

    def point_links(self, page: Page, inline: Token) -> None:
        """Links to other documents point to their HTML; links to other files of the checkout to the source."""
        for index, token in enumerate(inline.children or []):
            if token.type == "image":
                picture = self.existing(page, token.attrs["src"])
                page.pictures.add(picture)
                token.attrSet("src", relative(page.path, output_path(picture)))
                token.attrSet("loading", "lazy")
            elif token.type == "link_open":
                target = token.attrs["href"]
                if "://" in target or target.startswith(("mailto:", "#")):
                    continue
                path, _, anchor = target.partition("#")
                path = self.existing(page, path)
                if path in self.pages:
                    address = relative(page.path, output_path(path))
                    token.attrSet("href", f"{address}#{anchor}" if anchor else address)
                elif self.source_url:
                    token.attrSet("href", f"{self.source_url}/{path}")
                else:
                    self.unlink(inline.children, index, path)

    def existing(self, page: Page, target: str) -> str:
        path = resolve(page.path, target)
        if not (self.root / path).exists():
            self.faults.append(f"{page.path}: {target}: there is no such file")
        return path

    @staticmethod
    def unlink(children: list[Token], index: int, path: str) -> None:
        """Without an address of the source, a link to one of its files becomes a text with the path."""
        children[index] = Token("html_inline", "", 0)
        children[index].content = f'<span class="source" title="{path} in the source">'
        for later in range(index + 1, len(children)):
            if children[later].type == "link_close":
                children[later] = Token("html_inline", "", 0)
                children[later].content = "</span>"
                return


def plain_text(inline: Token) -> str:
    kept = ("text", "code_inline", "softbreak")
    children = (child for child in inline.children or [] if child.type in kept)
    return "".join(" " if child.type == "softbreak" else child.content for child in children)


def slug(heading: str) -> str:
    """The anchor of a heading, by the rule that tools/tidy checks links with."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


def relative(page: str, target: str) -> str:
    """From one file of the guide to another, so that the folder works under any address and as files."""
    return posixpath.relpath(target, posixpath.dirname(output_path(page)) or ".")
