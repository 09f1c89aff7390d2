"""Prints NOTICE: the third-party software inside `longshored`, with the licence of each.

The crates come from `cargo tree`, which resolves features as the build does. `cargo metadata` also lists
optional crates that are never built.
"""

import json
import subprocess

TREE = ["cargo", "tree", "--locked", "--package=server", "--edges=normal", "--prefix=none", "--format={p}|{l}"]
PLATFORMS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
DASHBOARD_LOCK = "crates/dashboard/web/package-lock.json"


def read_crates(tree):
    """Name, version and licence of each crate of other authors, from lines such as `ring v0.17.14|Apache-2.0 AND ISC`."""
    crates = set()
    for line in filter(None, tree.splitlines()):
        package, licence = line.removesuffix(" (*)").split("|")
        name, version, *source = package.split()
        # Our own crates have a path.
        if any(word.startswith("(/") for word in source):
            continue
        if not licence:
            raise SystemExit(f"{name} {version} names no licence: read its source, then name it in scripts/notice.py")
        crates.add((name, version.removeprefix("v"), licence.replace("/", " OR ")))
    return sorted(crates)


def read_scripts(path):
    with open(path) as file:
        packages = json.load(file)["packages"].items()
    return sorted((path.removeprefix("node_modules/"), it["version"], it["license"]) for path, it in packages if path)


def write(crates, scripts):
    print("Longshore\n")
    print("The program longshored contains the software below, under the licence beside each name.")
    print("`./dev notice` writes this file, and `./dev check` fails while it is stale.")
    print("\nRust crates:\n")
    for name, version, licence in crates:
        print(f"  {name} {version}: {licence}")
    print("\nScripts and styles of the dashboard:\n")
    for name, version, licence in scripts:
        print(f"  {name} {version}: {licence}")
    # The crate's licence is the one of its Rust code.
    if not any(name == "utoipa-swagger-ui" for name, _, _ in crates):
        raise SystemExit("/docs does not use utoipa-swagger-ui any more: change scripts/notice.py")
    print("\nThe page /docs, inside utoipa-swagger-ui:\n")
    print("  Swagger UI: Apache-2.0, Copyright 2020-2021 SmartBear Software Inc.")


def main():
    command = TREE + [f"--target={platform}" for platform in PLATFORMS]
    tree = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    write(read_crates(tree), read_scripts(DASHBOARD_LOCK))


if __name__ == "__main__":
    main()
