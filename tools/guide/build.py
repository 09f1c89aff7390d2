"""Writes the guide: all documents as linked HTML pages with a search that needs no server.

    build.py FOLDER [--check] [--source-url URL]

It fails if a link is broken or the index misses a page. It also writes llms.txt at the root of the checkout;
with --check it compares the file instead.
"""

import argparse
import html
import json
import posixpath
import re
import shutil
import sys
import tomllib
from pathlib import Path

from check import find_broken_links
from index import INDEX, Section, list_pages, output_path, read_index, render_llms
from render import Page, Renderer, relative

ROOT = Path(__file__).resolve().parents[2]
THEME = Path(__file__).resolve().parent / "theme"
LLMS = ROOT / "llms.txt"
SUMMARY = (
    "Longshore runs AI requests in batches: applications load single requests over HTTP, Longshore packs them "
    "into batch jobs of model providers and POSTs each answer to a callback URL."
)
# The text of one search row; long tables and logs would only make the index large.
MAX_ROW_CHARACTERS = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--source-url", help="address of the source at this version, for links to its files")
    arguments = parser.parse_args()
    sections = read_index(ROOT)
    paths = list_pages(ROOT, sections)
    if faults := find_index_faults(sections, paths):
        sys.exit("\n".join(faults))
    renderer = Renderer(ROOT, set(paths), arguments.source_url)
    pages = [renderer.render(path, (ROOT / path).read_text()) for path in paths]
    if renderer.faults:
        sys.exit("\n".join(renderer.faults))
    write_guide(arguments.folder, sections, pages)
    llms = render_llms(sections, SUMMARY, lambda path: path)
    if not arguments.check:
        LLMS.write_text(llms)
    is_stale = not LLMS.exists() or LLMS.read_text() != llms
    faults = ["llms.txt is stale: ./dev book"] if is_stale else []
    if faults := faults + find_broken_links(arguments.folder):
        sys.exit("\n".join(faults))


def find_index_faults(sections: list[Section], paths: list[str]) -> list[str]:
    """Pages that the index misses, and names that it has for no file or for two."""
    listed = {entry.path for section in sections for entry in section.entries}
    faults = [f"{INDEX}: {path}: there is no such file" for path in paths if not (ROOT / path).is_file()]
    for path in paths:
        # A folder may have an index of its own, which the index lists.
        own_index = posixpath.join(posixpath.dirname(path), "README.md")
        if path != INDEX and path not in listed and (own_index == INDEX or own_index not in listed):
            faults.append(f"{INDEX}: {path} is missing")
    outputs = [output_path(path) for path in paths]
    faults += [f"two documents would be {output}" for output in sorted(set(outputs)) if outputs.count(output) > 1]
    return faults


def write_guide(folder: Path, sections: list[Section], pages: list[Page]) -> None:
    # Only a folder that an earlier run has written is replaced.
    if folder.exists():
        if any(folder.iterdir()) and not (folder / "search-index.js").exists():
            sys.exit(f"{folder} is not empty, and not a guide: choose another folder")
        shutil.rmtree(folder)
    template = (THEME / "page.html").read_text()
    order = [page for page in pages if page.path != INDEX]
    for page in pages:
        target = folder / output_path(page.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(fill(template, page, sections, order))
        for picture in page.pictures:
            copy = folder / output_path(picture)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / picture, copy)
    for name in ("guide.css", "guide.js"):
        shutil.copyfile(THEME / name, folder / name)
    shutil.copyfile(ROOT / "crates/dashboard/assets/mark.svg", folder / "icon.svg")
    (folder / "search-index.js").write_text(search_index(pages))
    (folder / "llms.txt").write_text(render_llms(sections, SUMMARY, output_path))
    texts = (f"<!-- {page.path} -->\n\n{(ROOT / page.path).read_text()}" for page in pages)
    (folder / "llms-full.txt").write_text("\n".join(texts))


def fill(template: str, page: Page, sections: list[Section], order: list[Page]) -> str:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    root = relative(page.path, ".")
    values = {
        "title": html.escape(page.title),
        "root": "" if root == "." else root + "/",
        "version": html.escape(version),
        "navigation": navigation(page, sections),
        "content": page.html,
        "neighbours": neighbours(page, order),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


def navigation(page: Page, sections: list[Section]) -> str:
    parts = []
    for section in sections:
        is_open = " open" if page.path in [entry.path for entry in section.entries] or page.path == INDEX else ""
        title = html.escape(section.title.split(":")[0])
        parts.append(f"<details{is_open}><summary>{title}</summary><ul>")
        for entry in section.entries:
            current = ' aria-current="page"' if entry.path == page.path else ""
            address = html.escape(relative(page.path, output_path(entry.path)))
            parts.append(f'<li><a href="{address}"{current}>{html.escape(entry.title)}</a></li>')
        parts.append("</ul></details>")
    return "".join(parts)


def neighbours(page: Page, order: list[Page]) -> str:
    """Links to the page before and the page after, in the order of the index."""
    place = order.index(page) if page in order else -1
    parts = []
    for name, index in (("prev", place - 1), ("next", place + 1)):
        if 0 <= index < len(order):
            other = order[index]
            address = html.escape(relative(page.path, output_path(other.path)))
            parts.append(f'<a rel="{name}" href="{address}">{html.escape(other.title)}</a>')
    return "".join(parts)


def search_index(pages: list[Page]) -> str:
    rows = []
    for page in pages:
        for row in page.rows:
            text = " ".join(row.text.split())[:MAX_ROW_CHARACTERS]
            rows.append([output_path(page.path) + "#" + row.anchor, page.title, row.heading, text])
    # A script and no JSON: browsers do not fetch from a folder of files.
    return f"window.guideIndex = {json.dumps(rows, ensure_ascii=False, separators=(',', ':'))};\n"


if __name__ == "__main__":
    main()
