"""packaging/image: the archive has what the last stage of the Dockerfile says, and the same bytes each time."""

import hashlib
import importlib.util
import io
import json
import re
import tarfile

import pytest
from settings_table import ROOT, read_settings
from versions import workspace_version

FOLDER = ROOT / "packaging/image"
EPOCH = 1_760_000_000

specification = importlib.util.spec_from_file_location("archive", FOLDER / "archive.py")
archive = importlib.util.module_from_spec(specification)
specification.loader.exec_module(archive)


def dockerfile():
    return (FOLDER / "Dockerfile").read_text()


def make_stages(folder):
    root, build, guide = folder / "root", folder / "build", folder / "guide"
    (root / "out/etc").mkdir(parents=True)
    (root / "out/etc/passwd").write_text("longshore:x:65532:65532::/:\n")
    (root / "out/tmp").mkdir()
    (root / "out/tmp").chmod(0o1777)
    (build / "out").mkdir(parents=True)
    for program in ("longshored", "longshore"):
        (build / "out" / program).write_bytes(b"\x7fELF")
        (build / "out" / program).chmod(0o755)
    (guide / "out").mkdir(parents=True)
    (guide / "out/index.html").write_text("<!doctype html>\n")
    return {"root": root, "build": build, "guide": guide}


def build(folder):
    image = archive.Image(archive.last_stage(dockerfile()), make_stages(folder), [("REVISION", "abc")])
    files, manifest = archive.make_files(image, "longshore:1", EPOCH, "x86_64")
    archive.write_archive(folder / "image.tar", files, EPOCH)
    return folder / "image.tar", json.loads(manifest)


def read_blob(path, descriptor):
    with tarfile.open(path) as tar:
        data = tar.extractfile("blobs/" + descriptor["digest"].replace(":", "/")).read()
    assert "sha256:" + hashlib.sha256(data).hexdigest() == descriptor["digest"]
    assert len(data) == descriptor["size"]
    return data


def test_the_image_runs_as_the_dockerfile_says(tmp_path):
    path, manifest = build(tmp_path)
    made = json.loads(read_blob(path, manifest["config"]))
    config = made["config"]
    assert config["User"] == "65532:65532"
    assert config["Entrypoint"] == ["/usr/bin/longshored"]
    assert config["Cmd"] == ["all"]
    assert config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/longshored", "health"]
    assert config["Healthcheck"]["Interval"] == 10_000_000_000
    assert config["Labels"]["org.opencontainers.image.version"] == workspace_version()
    assert config["Labels"]["org.opencontainers.image.revision"] == "abc"
    assert (made["os"], made["architecture"]) == ("linux", "amd64")
    names = {variable.split("=")[0] for variable in config["Env"]}
    assert {name for name in names if name.startswith("SVC_")} <= {each.name for each in read_settings()}


def test_layers_have_the_copied_files_and_belong_to_root(tmp_path):
    path, manifest = build(tmp_path)
    entries = {}
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(read_blob(path, layer)), mode="r:gz") as tar:
            entries.update({entry.name: entry for entry in tar})
    programs = ["usr/bin/longshored", "usr/bin/longshore"]
    assert list(entries) == ["etc", "etc/passwd", "tmp", *programs, "usr/share/longshore/guide/index.html"]
    assert entries["tmp"].mode == 0o1777
    assert entries["usr/bin/longshored"].mode == 0o755
    assert {(entry.uid, entry.gid, entry.mtime) for entry in entries.values()} == {(0, 0, EPOCH)}


def test_docker_and_podman_find_the_same_image(tmp_path):
    path, manifest = build(tmp_path)
    with tarfile.open(path) as tar:
        [docker] = json.load(tar.extractfile("manifest.json"))
        [oci] = json.load(tar.extractfile("index.json"))["manifests"]
    assert docker["RepoTags"] == ["longshore:1"]
    assert oci["annotations"]["org.opencontainers.image.ref.name"] == "longshore:1"
    assert docker["Config"].endswith(manifest["config"]["digest"].removeprefix("sha256:"))
    assert json.loads(read_blob(path, oci)) == manifest


def test_two_builds_are_the_same_bytes(tmp_path):
    one, two = tmp_path / "one", tmp_path / "another/folder"
    one.mkdir()
    two.mkdir(parents=True)
    assert build(one)[0].read_bytes() == build(two)[0].read_bytes()


def test_an_instruction_that_the_builder_does_not_know_is_refused(tmp_path):
    text = dockerfile() + "RUN true\n"
    with pytest.raises(ValueError, match="RUN is not supported"):
        archive.Image(archive.last_stage(text), make_stages(tmp_path), [])


def test_the_dockerfile_runs_the_same_scripts():
    for script in ["compile.sh", "root.sh"]:
        assert script in dockerfile()
        assert f"packaging/image/{script}" in (ROOT / "scripts/image.sh").read_text()
    assert "tools/guide/build.py /out --check" in dockerfile()
    assert 'tools/guide/build.py "$1" --check' in (ROOT / "scripts/book.sh").read_text()


def test_the_image_and_the_workflows_are_built_with_the_compiler_of_the_checkout():
    toolchain = re.search(r'channel = "(.+)"', (ROOT / "rust-toolchain.toml").read_text())[1]
    assert f"ARG RUST=rust:{toolchain}-bookworm" in dockerfile()
    assert f"RUSTUP_TOOLCHAIN={toolchain} " in dockerfile()
    for workflow in ["ci.yml", "release.yml"]:
        assert f"container: rust:{toolchain}-bookworm" in (ROOT / ".github/workflows" / workflow).read_text()
