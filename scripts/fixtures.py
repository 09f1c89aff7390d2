"""Writes the fixtures of conformance/README.md: fixtures.py LONGSHORED FILE BASE_URL.

Creates organizations, projects and keys with admin commands, on the databases of the
SVC_ variables, distributed over the shards.
"""

import json
import os
import secrets
import subprocess
import sys
from itertools import cycle
from pathlib import Path

EXPIRED_AT = "2020-01-01T00:00:00Z"

LARGE_CREDIT = "10000"
"""Dollars, more than any test run spends."""

SMALL_CREDIT = "10"

MODELS = {
    "priced_chat": "mock-chat",
    "vision": "mock-vision",
    "embedding": "mock-embedding",
    "failing": "mock-failing",
}
"""Entries of scripts/conformance-models.toml, the catalogue that the server must use."""


class Admin:
    def __init__(self, longshored):
        self.longshored = longshored
        pairs = os.environ.get("SVC_SHARD_DATABASE_URLS", "main=").split(",")
        # Slugs are unique, so a second set of fixtures needs other ones.
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

    def create_only_key(self, organization, name):
        """Creates the only project of an organization, and its key."""
        return self.key(self.project(organization, f"{name.lower()}1"), name)["key"]

    def organization_with_key(self, name, plan, dollars):
        organization = self.organization(name, plan)
        if dollars:
            self.credit(organization, dollars)
        return self.create_only_key(organization, name)

    def without_quota(self, name, plan, dollars):
        """It has enough credit, but a token quota of 0."""
        organization = self.organization(name, plan)
        self.credit(organization, dollars)
        self.run("organization", "set-quota", organization, "0")
        return self.create_only_key(organization, name)


def keys(admin):
    organization = admin.organization("A", "pro")
    admin.credit(organization, LARGE_CREDIT)
    first = admin.project(organization, "a1")
    second = admin.project(organization, "a2")
    inactive = admin.project(organization, "a3")
    made = {
        "pro": admin.key(first, "pro")["key"],
        "pro_sibling": admin.key(second, "pro_sibling")["key"],
        "pro_other": admin.organization_with_key("B", "pro", LARGE_CREDIT),
        "starter": admin.organization_with_key("C", "starter", SMALL_CREDIT),
        "free": admin.organization_with_key("D", "free", SMALL_CREDIT),
        "rate_free": admin.organization_with_key("E", "free", SMALL_CREDIT),
        "expired": admin.key(first, "expired", "--expires-at", EXPIRED_AT)["key"],
        "inactive_project": admin.key(inactive, "inactive_project")["key"],
        "broke": admin.organization_with_key("F", "pro", None),
        "quota_spent": admin.without_quota("G", "pro", LARGE_CREDIT),
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
