"""The stand-in for Docker reads compose.yaml as Docker does, and runs its services as the file says."""

import compose_stand_in
import pytest
import stand_in_servers
from compose_file import interpolate, patience_seconds, read_compose, start_order
from settings_table import ROOT

FOLDER = ROOT / "compose"
DEMO = {"COMPOSE_PROFILES": "demo", "LONGSHORE_IMAGE": "localhost/longshore:trial"}


@pytest.fixture
def compose(monkeypatch, tmp_path):
    monkeypatch.setattr(compose_stand_in, "FOLDER", FOLDER)
    monkeypatch.setattr(compose_stand_in, "STATE", tmp_path)
    return read_compose(FOLDER, DEMO)


def test_variables_have_defaults_and_dollars_can_be_escaped():
    variables = {"SET": "a", "EMPTY": ""}
    text = "${SET:-x} ${EMPTY:-y} ${MISSING:-z} ${MISSING} $$(cat file)"
    assert interpolate([text], variables) == ["a y z  $(cat file)"]


def test_services_of_other_profiles_are_left_out(compose):
    assert "receiver" in compose["services"]
    assert "receiver" not in read_compose(FOLDER, {})["services"]


def test_the_migration_starts_after_the_database_and_before_the_processes(compose):
    order = [name for name, _ in start_order(compose["services"])]
    assert order.index("postgres") < order.index("migrate") < order.index("serve")
    assert sorted(order) == sorted(compose["services"])


def test_a_service_has_as_long_as_its_health_check_allows(compose):
    assert patience_seconds(compose["services"]["postgres"]["healthcheck"]) == 150
    assert patience_seconds(compose["services"]["serve"]["healthcheck"]) == 30 + 3 * 11


def test_containers_are_confined_and_have_settings_secrets_and_volumes_of_the_file(compose):
    known = compose_stand_in.addresses(compose["services"])
    options = compose_stand_in.container_options("work", compose["services"]["work"], known)
    for option in [
        "--read-only",
        "--read-only-tmpfs=false",
        "--cap-drop=all",
        "--security-opt=no-new-privileges",
        "--stop-timeout=45",
        "--volume=spool:/tmp",
        "--add-host=valkey:127.77.0.8",
        "--env=SVC_OBJECTS_PUBLIC_CONNECT=objects:8333",
        "--env=SVC_LISTEN=127.77.0.9:8080",
        f"--volume={FOLDER}/models.toml:/etc/longshore/models.toml:ro",
        f"--volume={FOLDER}/secrets/database_url:/run/secrets/database_url:ro",
    ]:
        assert option in options
    assert options[-2:] == ["localhost/longshore:trial", "work"]


def test_the_trial_knows_the_addresses_of_the_api_and_of_the_object_store(compose):
    known = compose_stand_in.addresses(compose["services"])
    trial = (ROOT / "scripts/compose_trial.sh").read_text()
    assert f"address={known['serve']} " in trial
    assert f"OBJECTS_PUBLIC_URL=http://{known['objects']}:8333" in trial


def test_servers_of_this_machine_get_the_commands_of_the_file(compose, monkeypatch, tmp_path):
    services = compose["services"]
    monkeypatch.setenv("COMPOSE_WEED", "/tools/bin/weed")
    servers = stand_in_servers.Servers(FOLDER, tmp_path, compose_stand_in.addresses(services))
    command, _ = servers.prepare_valkey(services["valkey"])
    assert command[1:] == ["--bind", "127.77.0.8", *services["valkey"]["command"][3:]]
    command, options = servers.prepare_objects(services["objects"])
    assert f"$(cat {FOLDER}/secrets/objects_access_key)" in command[-1]
    assert f"-dir={tmp_path}/volumes/objects -ip=objects -ip.bind=127.77.0.3 -bucket=longshore" in command[-1]
    assert options["env"]["PATH"].startswith("/tools/bin:")
    command, _ = servers.prepare_receiver(services["receiver"])
    assert command == ["python3", "-u", f"{ROOT}/scripts/receiver.py", "8000", "127.77.0.5"]


def test_a_field_that_the_stand_in_does_not_know_is_refused(tmp_path):
    (tmp_path / "compose.yaml").write_text("services: {one: {image: a, privileged: true}}")
    with pytest.raises(ValueError, match="privileged"):
        read_compose(tmp_path, {})
