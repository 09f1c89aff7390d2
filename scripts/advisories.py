"""Compares the lock files with the databases of security advisories: the Rust crates, with the fuzz targets, and npm.

An advisory fails the check. A database that cannot be reached does not, but a line says that nothing was checked.
`.ci/run` repeats the lines with NOT_CHECKED at its end.
Packages of Python are not checked: they only run tests and write the guide.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import PurePath

NOT_CHECKED = "NOT CHECKED"

TIMEOUT_SECONDS = 30
"""For each command. Where packets are dropped, no answer comes at all."""

FETCH_SECONDS = 120
"""For a command that may fetch the whole database of RustSec."""

unreachable = {}
"""Why a database did not answer in time, by its name. The other lock files do not wait for it again."""


def find_lock_files():
    """The Cargo.toml of each Cargo.lock, and the folder of each package-lock.json."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "*Cargo.lock", "*package-lock.json")
    files = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    files = [PurePath(file) for file in sorted(set(files))]
    manifests = [str(file.with_name("Cargo.toml")) for file in files if file.name == "Cargo.lock"]
    folders = [str(file.parent) for file in files if file.name == "package-lock.json"]
    return manifests, folders


def run(*command, timeout=TIMEOUT_SECONDS):
    """The exit code and the output of a command, and whether it was too slow. Without an exit code, it did not end."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", start_new_session=True,
        )
    except OSError as error:
        return None, str(error), False
    try:
        output, _ = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        # With its children: git(1), which fetches the database, would keep the pipe open.
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        return None, f"no answer within {timeout} seconds", True
    return child.returncode, output, False


def last_line(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def check_crates(manifest):
    """Fetches the database of RustSec. Without network, a copy of the last 90 days will do."""
    reason = unreachable.get("RustSec")
    for options in ((), ("--disable-fetch",)):
        if not options and reason:
            continue
        workspace = ("--log-level", "warn", "--manifest-path", manifest, "--locked")
        command = ("cargo", "deny", *workspace, "check", *options, "advisories")
        code, output, is_late = run(*command, timeout=TIMEOUT_SECONDS if options else FETCH_SECONDS)
        if code == 0:
            return True
        # Other failures have the same exit code.
        if "RUSTSEC-" in output:
            print(output)
            return False
        reason = reason or last_line(output)
        if is_late:
            unreachable["RustSec"] = reason
    print(f"advisories of {manifest}: {NOT_CHECKED}, because the crates or the database cannot be read: {reason}")
    return None


def check_npm(folder):
    reason, report = unreachable.get("npm"), {}
    if not reason:
        _, output, is_late = run("npm", "--prefix", folder, "--fetch-retries=0", "audit", "--json")
        report = read_report(output)
        reason = report.get("message") or last_line(output)
        if is_late:
            unreachable["npm"] = reason
    if "metadata" not in report:
        print(f"advisories of {folder}: {NOT_CHECKED}, because the registry does not answer: {reason}")
        return None
    if report["metadata"]["vulnerabilities"]["total"] == 0:
        return True
    for name, found in report["vulnerabilities"].items():
        print(f"{folder}: {name} ({found['severity']}): npm --prefix {folder} audit")
    return False


def read_report(output):
    begin = output.find("{")
    try:
        return json.JSONDecoder().raw_decode(output[begin:])[0] if begin >= 0 else {}
    except ValueError:
        return {}


def main():
    manifests, folders = find_lock_files()
    if not manifests or not folders:
        sys.exit(f"lock files are missing: there are {manifests} and {folders}")
    results = {manifest: check_crates(manifest) for manifest in manifests}
    results |= {folder: check_npm(folder) for folder in folders}
    for what, result in results.items():
        if result is not None:
            print(f"advisories of {what}: {'none' if result else 'FOUND'}")
    sys.exit(False in results.values())


if __name__ == "__main__":
    main()
