"""Prints the SBOM of a release: the software inside `longshored`, as CycloneDX 1.5 in JSON.

It has the packages of NOTICE, with their licences, the digests of the lock files, and the crates that each crate uses.
There is no serial number, and the time is that of the commit, so that two runs print the same bytes.
"""

import base64
import datetime
import json
import os
import platform
import subprocess
import sys
import tomllib

import notice

TARGET = f"{platform.machine()}-unknown-linux-gnu"
METADATA = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={TARGET}"]


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def crate_reference(name, version):
    return f"pkg:cargo/{name}@{version}"


def script_reference(name, version):
    return f"pkg:npm/{name.replace('@', '%40')}@{version}"


def component(reference, name, version, licence, algorithm, digest):
    return {
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "hashes": [{"alg": algorithm, "content": digest}],
        "licenses": [{"expression": licence}],
        "purl": reference,
    }


def crate_components(crates):
    with open("Cargo.lock", "rb") as file:
        locked = {(it["name"], it["version"]): it.get("checksum") for it in tomllib.load(file)["package"]}
    for name, version, licence in crates:
        yield component(crate_reference(name, version), name, version, licence, "SHA-256", locked[name, version])


def script_components(scripts):
    with open(notice.DASHBOARD_LOCK) as file:
        packages = json.load(file)["packages"]
    for name, version, licence in scripts:
        algorithm, digest = packages[f"node_modules/{name}"]["integrity"].split("-", 1)
        reference, digest = script_reference(name, version), base64.b64decode(digest).hex()
        yield component(reference, name, version, licence, algorithm.replace("sha", "SHA-"), digest)


def list_dependencies(crates, metadata):
    """Which crate uses which, among those inside the program. What our own crates use belongs to the program."""
    references = {crate_reference(name, version) for name, version, _ in crates}
    packages = {it["id"]: it for it in metadata["packages"]}
    ours, entries = set(), []
    for node in metadata["resolve"]["nodes"]:
        package = packages[node["id"]]
        used = {
            crate_reference(packages[it["pkg"]]["name"], packages[it["pkg"]]["version"])
            for it in node["deps"]
            if any(kind["kind"] is None for kind in it["dep_kinds"])
        }
        reference = crate_reference(package["name"], package["version"])
        if package["source"] is None:
            ours |= used & references
        elif reference in references:
            entries.append({"ref": reference, "dependsOn": sorted(used & references)})
    return ours, sorted(entries, key=lambda entry: entry["ref"])


def main(version):
    tree = run(notice.TREE + [f"--target={TARGET}"])
    crates, scripts = notice.read_crates(tree), notice.read_scripts(notice.DASHBOARD_LOCK)
    ours, dependencies = list_dependencies(crates, json.loads(run(METADATA)))
    program = f"pkg:generic/longshore@{version}"
    ours |= {script_reference(name, version) for name, version, _ in scripts}
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application",
                "bom-ref": program,
                "name": "longshore",
                "version": version,
                "licenses": [{"expression": "Apache-2.0"}],
                "purl": program,
            },
        },
        "components": [*crate_components(crates), *script_components(scripts)],
        "dependencies": [{"ref": program, "dependsOn": sorted(ours)}, *dependencies],
    }
    json.dump(document, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
