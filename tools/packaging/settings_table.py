"""Every setting of longshored, read from its table in the source: no build is needed."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "crates/server/src/settings/table.rs"
TEXT = r'"((?:[^"\\]|\\.)*)"'
ROW = re.compile(
    rf'^    (?P<display>Plain|Masked|Hidden) "(?P<name>SVC_\w+)" [^\n]+? = {TEXT}, [^\n]+,\n\s+{TEXT};$',
    re.MULTILINE,
)
NAME = re.compile(r'^    (?:Plain|Masked|Hidden) "(SVC_\w+)"', re.MULTILINE)
CHAOS_ROW = re.compile(r'^    #\[cfg\(feature = "chaos"\)\]\n.+\n.+;$', re.MULTILINE)


class Setting(NamedTuple):
    name: str
    is_address: bool
    """It may contain a password, which is masked when the setting is shown."""
    is_secret: bool
    """The whole value is hidden."""
    default: str
    help: str

    @property
    def can_be_file(self):
        """Whether NAME_FILE can name a file with the value."""
        return self.is_address or self.is_secret


def read_settings():
    # The chaos build is for tests only.
    source = CHAOS_ROW.sub("", TABLE.read_text())
    rows = []
    for match in ROW.finditer(source):
        display, default, text = match["display"], match[3], match[4]
        unescaped = text.replace('\\"', '"').replace("\\\\", "\\")
        rows.append(Setting(match["name"], display == "Masked", display == "Hidden", default, unescaped))
    missed = set(NAME.findall(source)) - {row.name for row in rows}
    if missed or not rows:
        raise ValueError(f"{TABLE}: rows that this script does not understand: {sorted(missed)}")
    return rows
