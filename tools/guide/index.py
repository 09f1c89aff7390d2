"""The index of all documents: docs/README.md, the only list of pages."""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

INDEX = "docs/README.md"
ROW_LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)\)")


@dataclass
class Entry:
    """A row of the index."""

    title: str
    path: str  # from the root of the checkout
    summary: str


@dataclass
class Section:
    title: str
    entries: list[Entry] = field(default_factory=list)


def read_index(root: Path) -> list[Section]:
    """The sections of the index, with the documents of their tables."""
    sections = []
    for line in (root / INDEX).read_text().splitlines():
        if line.startswith("## "):
            sections.append(Section(line.removeprefix("## ").strip()))
        elif line.startswith("|") and sections:
            entry = read_row(line)
            if entry:
                sections[-1].entries.append(entry)
    return [section for section in sections if section.entries]


def read_row(line: str) -> Entry | None:
    cells = [cell.strip() for cell in line.strip("|\n ").split(" | ")]
    for number, cell in enumerate(cells):
        link = ROW_LINK.match(cell)
        if link and "://" not in link[2]:
            # Decisions have their number before the link, and no summary.
            title = f"{cells[0]}. {link[1]}" if number else link[1]
            summary = cells[1].strip() if number == 0 and len(cells) > 1 else ""
            return Entry(title, resolve(INDEX, link[2]), summary)
    return None


def resolve(page: str, target: str) -> str:
    """A relative link as a path from the root of the checkout."""
    parts: list[str] = []
    for part in (PurePosixPath(page).parent / target).parts:
        if part == "..":
            if not parts:
                raise ValueError(f"{page}: {target} leaves the checkout")
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def output_path(path: str) -> str:
    """Where a document or a picture is in the guide: the index is its first page, and `docs` its root."""
    if path == INDEX:
        return "index.html"
    inside = path.removeprefix("docs/")
    return inside.removesuffix(".md") + ".html" if inside.endswith(".md") else inside


def list_pages(root: Path, sections: list[Section]) -> list[str]:
    """Every document of the guide: the index, the pages that it lists, and all pages of `docs`."""
    listed = [entry.path for section in sections for entry in section.entries]
    found = sorted(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md"))
    return list(dict.fromkeys([INDEX, *listed, *found]))


def render_llms(sections: list[Section], summary: str, link) -> str:
    """llms.txt: the index for language models. `link` makes an address of a path."""
    lines = ["# Longshore", "", f"> {summary}", ""]
    for section in sections:
        lines += [f"## {section.title}", ""]
        for entry in section.entries:
            about = f": {entry.summary}" if entry.summary else ""
            lines.append(f"- [{entry.title}]({link(entry.path)}){about}")
        lines.append("")
    return "\n".join(lines)
