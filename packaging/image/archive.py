"""Builds the last stage of a Dockerfile that only copies files: an archive for `docker load` and `podman load`.

    archive.py DOCKERFILE OUT.tar --tag NAME:TAG --stage NAME=FOLDER… --argument NAME=VALUE…

Needs no container tool. The same files and SOURCE_DATE_EPOCH give the same bytes. A stage is a folder with the files
that the stage of that name would have. Each COPY becomes a layer.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tarfile
from datetime import datetime, timezone
from pathlib import Path

NANOSECONDS = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def last_stage(text):
    """The instructions after the last FROM, which must be `scratch`, as pairs of name and rest."""
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    start = max(index for index, (name, *_) in enumerate(lines) if name == "FROM")
    if lines[start][1] != "scratch":
        raise ValueError("the last stage is not FROM scratch")
    return [(name, rest) for name, rest in lines[start + 1 :]]


def duration(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * NANOSECONDS[unit]


def read_healthcheck(rest):
    options, command = rest.split(" CMD ", 1)
    options = dict(option.removeprefix("--").split("=") for option in options.split())
    return {
        "Test": ["CMD", *json.loads(command)],
        "Interval": duration(options["interval"]),
        "Timeout": duration(options["timeout"]),
        "StartPeriod": duration(options["start-period"]),
        "Retries": int(options["retries"]),
    }


class Image:
    """What the instructions of the stage say."""

    def __init__(self, instructions, stages, arguments):
        self.stages = stages
        self.arguments = dict(arguments)
        self.config = {"Env": [], "Labels": {}, "ExposedPorts": {}}
        self.copies = []
        for name, rest in instructions:
            apply = getattr(self, f"apply_{name.lower()}", None)
            if apply is None:
                raise ValueError(f"{name} is not supported in the last stage")
            apply(rest)

    def expand(self, text):
        return re.sub(r"\$\{(\w+)\}", lambda match: self.arguments[match[1]], text)

    def pairs(self, rest):
        return [self.expand(word).split("=", 1) for word in shlex.split(rest)]

    def apply_arg(self, rest):
        name, default = rest.split("=", 1)
        self.arguments.setdefault(name, default)

    def apply_label(self, rest):
        self.config["Labels"].update(self.pairs(rest))

    def apply_env(self, rest):
        self.config["Env"] += ["=".join(pair) for pair in self.pairs(rest)]

    def apply_expose(self, rest):
        self.config["ExposedPorts"].update({f"{port}/tcp": {} for port in rest.split()})

    def apply_user(self, rest):
        self.config["User"] = rest

    def apply_stopsignal(self, rest):
        self.config["StopSignal"] = rest

    def apply_entrypoint(self, rest):
        self.config["Entrypoint"] = json.loads(rest)

    def apply_cmd(self, rest):
        self.config["Cmd"] = json.loads(rest)

    def apply_healthcheck(self, rest):
        self.config["Healthcheck"] = read_healthcheck(rest)

    def apply_copy(self, rest):
        option, source, target = rest.split()
        stage = self.stages[option.removeprefix("--from=")]
        self.copies.append((Path(stage) / source.strip("/"), target.strip("/")))


def entry(path, name, epoch):
    """A tar header that depends on nothing of the machine."""
    made = tarfile.TarInfo(name)
    status = path.lstat()
    made.mode, made.mtime = status.st_mode & 0o7777, epoch
    if path.is_symlink():
        made.type, made.linkname = tarfile.SYMTYPE, os.readlink(path)
    elif path.is_dir():
        made.type = tarfile.DIRTYPE
    else:
        made.size = status.st_size
    return made


def make_layer(source, target, epoch):
    """The files of one COPY as an uncompressed tar."""
    paths = sorted(source.rglob("*")) if source.is_dir() else [source]
    if not paths or not source.exists():
        raise ValueError(f"there is nothing to copy in {source}")
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in paths:
            inner = path.relative_to(source).as_posix() if source.is_dir() else ""
            name = "/".join(part for part in (target, inner) if part)
            made = entry(path, name, epoch)
            if made.isreg():
                with path.open("rb") as file:
                    tar.addfile(made, file)
            else:
                tar.addfile(made)
    return layer.getvalue()


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def describe(kind, data):
    return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest(data), "size": len(data)}


def render(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def make_files(image, tag, epoch, machine):
    """The files of the archive, by path, and its manifest."""
    layers = [make_layer(source, target, epoch) for source, target in image.copies]
    packed = [gzip.compress(layer, 9, mtime=0) for layer in layers]
    created = datetime.fromtimestamp(epoch, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = render({
        "architecture": ARCHITECTURES[machine],
        "os": "linux",
        "created": created,
        "config": image.config,
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        "history": [{"created": created, "created_by": f"COPY {target or '/'}"} for _, target in image.copies],
    })
    manifest = render({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": describe("config.v1+json", config),
        "layers": [describe("layer.v1.tar+gzip", layer) for layer in packed],
    })
    names = {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": tag}
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json"}
    index["manifests"] = [{**describe("manifest.v1+json", manifest), "annotations": names}]

    def blob(data):
        return "blobs/" + digest(data).replace(":", "/")

    # An OCI layout, and beside it the manifest that older versions of Docker read.
    docker = [{"Config": blob(config), "RepoTags": [tag], "Layers": [blob(layer) for layer in packed]}]
    files = {blob(data): data for data in (config, manifest, *packed)}
    files["oci-layout"] = render({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = render(index)
    files["manifest.json"] = render(docker)
    return files, manifest


def write_archive(out, files, epoch):
    with tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in sorted(files):
            made = tarfile.TarInfo(name)
            made.size, made.mode, made.mtime = len(files[name]), 0o644, epoch
            tar.addfile(made, io.BytesIO(files[name]))


def main():
    pair = {"action": "append", "default": [], "type": lambda text: tuple(text.split("=", 1))}
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("dockerfile", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tag", required=True)
    parser.add_argument("--machine", default=os.uname().machine)
    parser.add_argument("--stage", **pair)
    parser.add_argument("--argument", **pair)
    options = parser.parse_args()
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    image = Image(last_stage(options.dockerfile.read_text()), dict(options.stage), options.argument)
    files, manifest = make_files(image, options.tag, epoch, options.machine)
    write_archive(options.out, files, epoch)
    unpacked = sum(len(make_layer(source, target, epoch)) for source, target in image.copies)
    compressed = sum(layer["size"] for layer in json.loads(manifest)["layers"])
    print(render({"digest": digest(manifest), "bytes": unpacked, "compressed_bytes": compressed}).decode())


if __name__ == "__main__":
    sys.exit(main())
