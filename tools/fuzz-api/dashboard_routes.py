"""The routes of the dashboard that take a post, read from its source, and those for which no page has a form."""

import re
from pathlib import Path

from html_page import Form

FOLDER = Path(__file__).parents[2] / "crates" / "dashboard" / "src" / "routes"

CALL = re.compile(r"\bpost_route\(")
PATH = re.compile(r'\bpost_route\(\s*"([^"]+)"')

CREATE_FILE = {"filename": "a.png", "media_type": "image/png", "size_bytes": "67", "sha256": "0" * 64}

WITHOUT_FORM = {
    "/dashboard/setup": (
        {"pass": "x" * 43, "name": "A", "email": "a@fuzz.example", "organization": "A", "project": "a"},
        "The page exists only while there is no user. The client sets up the first one.",
    ),
    "/dashboard/second-factor/remove": (
        {"csrf": ""},
        "The form is there while the second factor is on. Then each sign-in of the run would need a code.",
    ),
    "/dashboard/project/{project}/api/files": ({"csrf": ""} | CREATE_FILE, "A script sends it, as JSON."),
    "/dashboard/project/{project}/api/files/{file}/parts": ({"csrf": ""}, "A script sends it, as JSON."),
    "/dashboard/project/{project}/api/files/{file}/complete": ({"csrf": ""}, "A script sends it, as JSON."),
}
"""Posts to these are made from the fields here. Every entry has its reason."""


def post_routes():
    """The paths, with names in braces."""
    routes = []
    for file in sorted(FOLDER.glob("*.rs")):
        text = file.read_text()
        paths = PATH.findall(text)
        assert len(paths) == len(CALL.findall(text)), f"{file} has a post route without a literal path"
        routes += paths
    assert routes, f"no post route in {FOLDER}"
    return routes


def is_path_of(route, path):
    pattern = "[^/]+".join(re.escape(part) for part in re.split(r"\{\w+\}", route))
    return re.fullmatch(pattern, path.split("?")[0]) is not None


def forms_without_page(project, file):
    """A form for each entry of the list."""
    values = {"project": project, "file": file}
    return [Form("post", route.format(**values), dict(fields)) for route, (fields, _) in WITHOUT_FORM.items()]


def find_faults(found, passed):
    """What is wrong with the paths of forms that pages had, and those of posts with a valid token that got through."""
    routes = post_routes()
    faults = [f"{route} of WITHOUT_FORM does not exist" for route in WITHOUT_FORM if route not in routes]
    for route in routes:
        if route in WITHOUT_FORM:
            continue
        if not any(is_path_of(route, path) for path in found):
            faults.append(f"no page had a form for {route}")
        elif not any(is_path_of(route, path) for path in passed):
            faults.append(f"every post to {route} was refused before its handler")
    return faults
