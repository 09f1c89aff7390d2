"""Writes the tables of standard input between the markers `<!-- models -->` and `<!-- /models -->` of a page."""

import sys

BEGIN, END = "<!-- models -->\n", "\n<!-- /models -->"
# The test model is always there, and has a page of its own.
OMITTED = "| `svc-mock` |"


def main():
    path = sys.argv[1]
    lines = (line for line in sys.stdin.read().splitlines() if not line.startswith(OMITTED))
    with open(path) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    with open(path, "w") as file:
        file.write(before + BEGIN + "\n".join(lines) + END + after)


if __name__ == "__main__":
    main()
