"""Which metrics and labels an expression uses, compared with docs/metrics.md.

A test of crates/server compares that page with the code.
"""

import re

# Of Prometheus, node_exporter and blackbox_exporter.
EXTERNAL = {
    "up": {"job", "instance"},
    "node_filesystem_avail_bytes": {"fstype", "mountpoint", "instance"},
    "node_filesystem_size_bytes": {"fstype", "mountpoint", "instance"},
    "probe_ssl_earliest_cert_expiry": {"instance"},
}
KEYWORDS = {"and", "or", "unless", "bool", "offset", "inf", "nan"}
GROUPING = r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)"


def read_catalogue(page):
    """Every series name with its labels; a histogram has three names."""
    names = dict(EXTERNAL)
    for line in page.splitlines():
        row = re.match(r"\| `(longshore_\w+)` \| (\w+) \| (.*?) \|", line)
        if not row:
            continue
        name, kind, labels = row[1], row[2], set(re.findall(r"`(\w+)`", row[3])) | {"instance", "job"}
        if kind == "histogram":
            names |= {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}
        else:
            names[name] = labels
    return names


def find_faults(expr, names):
    """What an expression uses that does not exist."""
    faults = []
    for name, matchers in re.findall(r"([A-Za-z_:][\w:]*)\s*\{([^}]*)\}", re.sub(r'"[^"]*"', '""', expr)):
        used = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers))
        unknown = used - names.get(name, used)
        faults.extend(f"{name} has no label {label}" for label in sorted(unknown))
    text = re.sub(r'"[^"]*"', "", expr)
    text = re.sub(GROUPING, " ", text)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", text)
    for name, call in re.findall(r"(?<![\w:.$])([A-Za-z_:][\w:]*)(\s*\()?", text):
        if call or name in KEYWORDS or name in names:
            continue
        faults.append(f"there is no metric {name}")
    return faults
