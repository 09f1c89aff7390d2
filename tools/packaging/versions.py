"""The version of this checkout, which is in Cargo.toml alone."""

import re

from settings_table import ROOT


def workspace_version():
    return re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]
