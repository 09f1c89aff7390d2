"""The section of one version in CHANGELOG.md.

`print VERSION` prints it, or the section of what is not released yet if the version has none. `date VERSION DATE`
makes that section the one of the version, with an empty one before it.
"""

import re
import sys

PAGE = "CHANGELOG.md"
UNRELEASED = "Unreleased"
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# Links of the page are relative to the checkout; the notes are read elsewhere.
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)")


def read_sections(text):
    """The text of each section, by its version."""
    headings = list(HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        heading.group(1).split(" (")[0]: text[heading.end():end].strip()
        for heading, end in zip(headings, ends)
    }


def print_notes(version):
    with open(PAGE) as file:
        sections = read_sections(file.read())
    notes = sections.get(version) or sections.get(UNRELEASED)
    if not notes:
        raise SystemExit(f"{PAGE} says nothing about {version}")
    notes = LINK.sub(r"\1", notes)
    print(f"# Longshore {version}\n\n{notes}")


def date_section(version, date):
    with open(PAGE) as file:
        text = file.read()
    sections = read_sections(text)
    if version in sections:
        raise SystemExit(f"{PAGE} has a section for {version} already")
    if not sections.get(UNRELEASED):
        raise SystemExit(f"{PAGE} has nothing that is not released")
    heading = f"## {UNRELEASED}\n"
    with open(PAGE, "w") as file:
        file.write(text.replace(heading, f"{heading}\n## {version} ({date})\n", 1))


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    {"print": print_notes, "date": date_section}[verb](*arguments)
