"""compose/compose.yaml is valid, pinned and confined, uses settings that exist, and `start` makes what it needs."""

import os
import re
import shutil
import stat
import subprocess
import sys

import pytest
import yaml
from settings_table import ROOT, read_settings
from versions import workspace_version

FOLDER = ROOT / "compose"
OURS = ["migrate", "serve", "work"]
IMAGE = re.compile(r"\$\{[A-Z]+_IMAGE:-(?P<name>[a-z/]+):(?P<tag>[\w.-]+)\}")


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((FOLDER / "compose.yaml").read_text())


def test_the_file_follows_the_compose_specification():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run([*command, str(FOLDER / "compose.yaml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_that_longshore_needs_is_there(compose):
    assert set(compose["services"]) == {*OURS, "postgres", "valkey", "objects", "scanner", "receiver"}


def test_images_have_a_version_and_can_be_replaced(compose):
    for name, service in compose["services"].items():
        match = IMAGE.fullmatch(service["image"])
        assert match, f"{name}: {service['image']}"
        assert re.search(r"\d", match["tag"]), f"{name} has no version: {match['tag']}"
    for name in OURS:
        assert compose["services"][name]["image"].endswith(f":{workspace_version()}}}"), name


def test_services_have_health_checks(compose):
    for name, service in compose["services"].items():
        check = service["healthcheck"]
        assert check == {"disable": True} if name == "migrate" else check["test"][0] == "CMD", name


def test_processes_start_after_the_migration(compose):
    for name in ["serve", "work"]:
        waits = compose["services"][name]["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
    assert compose["services"]["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}


def test_processes_are_confined(compose):
    for name in [*OURS, "receiver"]:
        service = compose["services"][name]
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name


def test_only_the_api_and_the_object_store_listen_and_only_on_this_machine(compose):
    ports = {name: service["ports"] for name, service in compose["services"].items() if "ports" in service}
    assert set(ports) == {"serve", "objects"}
    for [port] in ports.values():
        assert ":-127.0.0.1:" in port


def test_every_setting_exists_and_secrets_are_files(compose):
    settings = {each.name: each for each in read_settings()}
    files = {f"{each.name}_FILE": each for each in settings.values() if each.can_be_file}
    for name in OURS:
        service = compose["services"][name]
        for variable, value in service["environment"].items():
            assert variable in settings or variable in files, f"{variable} is no setting"
            if variable in files:
                secret = value.removeprefix("/run/secrets/")
                assert secret in service["secrets"] and secret in compose["secrets"], variable
            else:
                assert not settings[variable].is_secret, f"{variable} must be a file"
                assert "@" not in str(value), f"{variable} has a password"


def test_the_scanner_has_the_documented_limits():
    document = (ROOT / "docs/object-storage-and-scanner.md").read_text()
    block = re.search(r"```\n(StreamMaxLength.*?)```", document, re.DOTALL)[1]
    documented = [line for line in block.splitlines() if not line.startswith("TCPAddr")]
    configured = (FOLDER / "clamd.conf").read_text().splitlines()
    assert [line for line in documented if line not in configured] == []


DOCKER = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in
    *"organization create"*) echo '{"organization_id":"org_1","name":"Example"}' ;;
    *"project create"*) echo '{"project_id":"prj_1"}' ;;
    *"key create"*) echo '{"key_id":"key_1","key":"svc_sk_1"}' ;;
    *"person setup"*) echo '{"link":"http://localhost:8080/dashboard/setup/1"}' ;;
esac
"""


def start(folder, *arguments):
    """Runs `start` in a copy, with a Docker that only writes down how it is called."""
    programs = folder / "bin"
    if not programs.exists():
        shutil.copytree(FOLDER, folder / "compose", ignore=shutil.ignore_patterns("secrets", ".env"))
        programs.mkdir()
        (programs / "docker").write_text(DOCKER)
        (programs / "docker").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(folder / "calls")}
    command = [folder / "compose/start", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def read_secrets(folder):
    return {path.name: path.read_text() for path in (folder / "compose/secrets").iterdir()}


def test_start_makes_the_secrets_once_and_prints_the_setup_link(compose, tmp_path):
    done = start(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "http://localhost:8080/dashboard/setup/1" in done.stdout
    made = read_secrets(tmp_path)
    assert set(made) == set(compose["secrets"])
    assert made["postgres_password"].strip() in made["database_url"]
    folder = tmp_path / "compose/secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    # Containers run as another user.
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o644}
    assert start(tmp_path).returncode == 0
    assert read_secrets(tmp_path) == made
    assert "organization create" not in (tmp_path / "calls").read_text()


def test_a_demo_has_a_key_and_a_receiver(tmp_path):
    done = start(tmp_path, "--demo")
    assert done.returncode == 0, done.stderr
    assert "X-API-Key: svc_sk_1" in done.stdout
    assert "COMPOSE_PROFILES=demo" in (tmp_path / "compose/.env").read_text()
    assert start(tmp_path, "--demo").returncode == 0
    assert (tmp_path / "calls").read_text().count("organization create") == 1


def test_an_installation_does_not_become_a_demo(tmp_path):
    assert start(tmp_path).returncode == 0
    assert start(tmp_path, "--demo").returncode == 1
