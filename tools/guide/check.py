"""Checks the written guide: every link and picture in it leads to a file and an anchor of it."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class References(HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def find_broken_links(folder: Path) -> list[str]:
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        pages[path.resolve()] = references = References()
        references.feed(path.read_text())
    broken = []
    for path, references in pages.items():
        for target in references.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            where = path.relative_to(folder.resolve())
            if not file.is_file() or folder.resolve() not in file.parents:
                broken.append(f"{where}: {target}: there is no such file in the guide")
            elif parts.fragment and unquote(parts.fragment) not in pages[file].anchors:
                broken.append(f"{where}: {target}: there is no such heading")
    return broken
