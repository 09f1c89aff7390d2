"""Writes the fixtures of conformance/README.md: fixtures.py LONGSHORED FILE BASE_URL.

Organizations, projects and keys are made by admin commands, on the databases
that the SVC_ variables name, in turns over the shards.
"""

import json
import os
import secrets
import subprocess
import sys
from itertools import cycle
from pathlib import Path

LONG_AGO = "2020-01-01T00:00:00Z"

AMPLE = "10000"
"""Dollars, more than any test run spends."""

SOME = "10"

MODELS = {
    "priced_chat": "mock-chat",
    "vision": "mock-vision",
    "embedding": "mock-embedding",
    "failing": "mock-failing",
}
"""Entries of scripts/conformance-models.toml, which the server must run with."""


class Admin:
    def __init__(self, longshored):
        self.longshored = longshored
        pairs = os.environ.get("SVC_SHARD_DATABASE_URLS", "main=").split(",")
        # Slugs are unique; a second set of fixtures beside the first is fine.
        self.run_name = secrets.token_hex(3)
        self.shards = cycle(pair.partition("=")[0].strip() for pair in pairs)

    def run(self, *arguments):
        command = [self.longshored, "admin", *arguments, "--json"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
        return json.loads(done.stdout) if done.stdout.strip() else None

    def organization(self, name, plan):
        shard = next(self.shards)
        made = self.run("organization", "create", name, "--plan", plan, "--shard", shard)
        return made["organization_id"]

    def project(self, organization, slug):
        made = self.run("project", "create", "--organization", organization, "--slug", f"{slug}-{self.run_name}")
        return made["project_id"]

    def key(self, project, name, *options):
        return self.run("key", "create", "--project", project, "--name", name, *options)

    def credit(self, organization, dollars):
        self.run("credit", "add", organization, dollars, "--note", "fixtures")

    def only_key(self, organization, name):
        """The key of an organization with one project."""
        return self.key(self.project(organization, f"{name.lower()}1"), name)["key"]

    def alone(self, name, plan, dollars):
        organization = self.organization(name, plan)
        if dollars:
            self.credit(organization, dollars)
        return self.only_key(organization, name)

    def without_quota(self, name, plan, dollars):
        """Its credit would do: what stops it is the quota."""
        organization = self.organization(name, plan)
        self.credit(organization, dollars)
        self.run("organization", "set-quota", organization, "0")
        return self.only_key(organization, name)


def keys(admin):
    organization = admin.organization("A", "pro")
    admin.credit(organization, AMPLE)
    first = admin.project(organization, "a1")
    second = admin.project(organization, "a2")
    inactive = admin.project(organization, "a3")
    made = {
        "pro": admin.key(first, "pro")["key"],
        "pro_sibling": admin.key(second, "pro_sibling")["key"],
        "pro_other": admin.alone("B", "pro", AMPLE),
        "starter": admin.alone("C", "starter", SOME),
        "free": admin.alone("D", "free", SOME),
        "rate_free": admin.alone("E", "free", SOME),
        "expired": admin.key(first, "expired", "--expires-at", LONG_AGO)["key"],
        "inactive_project": admin.key(inactive, "inactive_project")["key"],
        "broke": admin.alone("F", "pro", None),
        "quota_spent": admin.without_quota("G", "pro", AMPLE),
    }
    deactivated = admin.key(first, "deactivated")
    admin.run("key", "deactivate", deactivated["key_id"])
    admin.run("project", "deactivate", inactive)
    return made | {"deactivated": deactivated["key"]}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    longshored, path, base_url = sys.argv[1:]
    written = {"base_url": base_url, "keys": keys(Admin(longshored)), "models": MODELS}
    Path(path).write_text(json.dumps(written, indent=2) + "\n")


if __name__ == "__main__":
    main()
