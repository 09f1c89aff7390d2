"""Compares the lock files with the databases of security advisories: the Rust crates, with the fuzz targets, and npm.

An advisory fails the check. A database that cannot be reached does not, but a line says that nothing was checked.
Packages of Python are not checked: they only run tests and write the guide.
"""

import json
import subprocess
import sys

TIMEOUT_SECONDS = 120

CARGO_MANIFESTS = ("Cargo.toml", "fuzz/Cargo.toml")
NPM_FOLDERS = ("clients/typescript", "crates/dashboard/web", "tools/browser", "tools/webhooks")


def run(*command):
    """The exit code and the output of a command; neither if it cannot be run in time."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return done.returncode, done.stdout


def last_line(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"


def check_crates(manifest):
    """Fetches the database of RustSec. Without network, a copy of the last 90 days will do."""
    reason = None
    for options in ((), ("--disable-fetch",)):
        workspace = ("--log-level", "warn", "--manifest-path", manifest, "--locked")
        code, output = run("cargo", "deny", *workspace, "check", *options, "advisories")
        if code == 0:
            return True
        # Other failures have the same exit code.
        if "RUSTSEC-" in output:
            print(output)
            return False
        reason = reason or last_line(output)
    print(f"advisories of {manifest}: NOT CHECKED, because the crates or the database cannot be read: {reason}")
    return None


def check_npm(folder):
    _, output = run("npm", "--prefix", folder, "--fetch-retries=0", "audit", "--json")
    begin = output.find("{")
    try:
        report = json.JSONDecoder().raw_decode(output[begin:])[0] if begin >= 0 else {}
    except ValueError:
        report = {}
    if "metadata" not in report:
        reason = report.get("message") or last_line(output)
        print(f"advisories of {folder}: NOT CHECKED, because the registry does not answer: {reason}")
        return None
    if report["metadata"]["vulnerabilities"]["total"] == 0:
        return True
    for name, found in report["vulnerabilities"].items():
        print(f"{folder}: {name} ({found['severity']}): npm --prefix {folder} audit")
    return False


def main():
    results = {manifest: check_crates(manifest) for manifest in CARGO_MANIFESTS}
    results |= {folder: check_npm(folder) for folder in NPM_FOLDERS}
    for what, result in results.items():
        if result is not None:
            print(f"advisories of {what}: {'none' if result else 'FOUND'}")
    sys.exit(False in results.values())


if __name__ == "__main__":
    main()
