"""Stands in for `docker compose` where no image can be pulled: runs the services of compose.yaml.

    compose_stand_in.py compose version | up --detach | exec -T SERVICE COMMAND… | down | healthy

Services of Longshore are containers of podman, with the settings, secrets, volumes and confinement of the file. For
each of the others it starts the same server of this machine, with the command and the settings of the file. All are on
the network of the host, and each has an address of its own, so that every port is that of the file. Longshore is told
its address by SVC_LISTEN and SVC_METRICS_LISTEN, which the file leaves to the image. `healthy` waits until every health
check succeeds.

The environment has COMPOSE_FOLDER (with compose.yaml), COMPOSE_STATE (where volumes and logs are), COMPOSE_PODMAN,
COMPOSE_WEED and COMPOSE_POSTGRES (the folder of its programs).
"""

import json
import os
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import stand_in_servers
from compose_file import patience_seconds, read_compose, read_seconds, start_order

FOLDER, STATE = (Path(os.environ.get(name, ".")) for name in ("COMPOSE_FOLDER", "COMPOSE_STATE"))
PODMAN = shlex.split(os.environ.get("COMPOSE_PODMAN", "podman"))
OURS = ("migrate", "serve", "work")
NETWORK = "127.77.0"
POLL_SECONDS = 0.5


def addresses(services):
    """Each service's own address. Of all services of the file, so that it never changes."""
    return {name: f"{NETWORK}.{number}" for number, name in enumerate(sorted(services), start=2)}


def mounts(name, service):
    """Volumes and secrets, as options of podman."""
    for volume in service.get("volumes", []):
        source, target, *mode = volume.split(":")
        if source.startswith("."):
            source = str((FOLDER / source).resolve())
        yield f"--volume={':'.join([source, target, *mode])}"
    for secret in service.get("secrets", []):
        yield f"--volume={(FOLDER / 'secrets' / secret).resolve()}:/run/secrets/{secret}:ro"


def container_options(name, service, known):
    """What `podman create` needs to run a service of Longshore as the file says."""
    address = known[name]
    environment = {
        **service["environment"],
        "SVC_LISTEN": f"{address}:8080",
        "SVC_METRICS_LISTEN": f"{address}:9090",
    }
    options = [f"--name={name}", "--network=host", f"--log-opt=path={STATE}/{name}.log", "--log-driver=k8s-file"]
    options += [f"--add-host={other}:{place}" for other, place in known.items()]
    options += [f"--env={key}={value}" for key, value in environment.items()]
    options += [f"--cap-drop={each.lower()}" for each in service["cap_drop"]]
    options += [f"--security-opt={each.removesuffix(':true')}" for each in service["security_opt"]]
    # Docker mounts no temporary file systems that the file does not name.
    options += ["--read-only", "--read-only-tmpfs=false"] if service["read_only"] else []
    options += [f"--stop-timeout={read_seconds(service['stop_grace_period'])}"]
    options += [f"--ulimit=nofile={lower_limit(resource.RLIMIT_NOFILE, 20_000)}"]
    options += [f"--ulimit=nproc={lower_limit(resource.RLIMIT_NPROC, 2_000)}"]
    return [*options, *mounts(name, service), service["image"], *service["command"]]


def lower_limit(kind, most):
    """podman's own limits may be higher than this machine allows."""
    _, hard = resource.getrlimit(kind)
    limit = most if hard == resource.RLIM_INFINITY else min(hard, most)
    return f"{limit}:{limit}"


def podman(*arguments, **options):
    return subprocess.run([*PODMAN, *arguments], check=options.pop("check", True), **options)


class Installation:
    def __init__(self):
        self.compose = read_compose(FOLDER, dict(os.environ))
        self.services = self.compose["services"]
        every = read_compose(FOLDER, {**os.environ, "COMPOSE_PROFILES": "demo"})["services"]
        self.addresses = addresses(every)
        self.servers = stand_in_servers.Servers(FOLDER, STATE, self.addresses)

    def up(self):
        started = read_started()
        for name, waits in start_order(self.services):
            for other, condition in waits.items():
                # The migration ends before its service is started.
                if condition == "service_healthy":
                    self.wait_until_healthy(other)
            if name in started:
                continue
            print(f"starting {name}", file=sys.stderr)
            self.start(name, self.services[name])
            if name != "migrate":
                started.append(name)
            (STATE / "started.json").write_text(json.dumps(started))

    def start(self, name, service):
        if name not in OURS:
            return self.servers.start(name, service)
        options = container_options(name, service, self.addresses)
        podman("create", "--replace", *options, stdout=subprocess.DEVNULL)
        attach = ["--attach"] if name == "migrate" else []
        return podman("start", *attach, name, stdout=subprocess.DEVNULL)

    def wait_until_healthy(self, name):
        until = time.monotonic() + patience_seconds(self.services[name]["healthcheck"])
        while not self.is_healthy(name):
            if time.monotonic() > until:
                sys.exit(f"{name} is not healthy; its log is {STATE}/{name}.log")
            time.sleep(POLL_SECONDS)

    def is_healthy(self, name):
        _, *test = self.services[name]["healthcheck"]["test"]
        if name not in OURS:
            return self.servers.is_healthy(name, test)
        return podman("exec", name, *test, check=False, capture_output=True).returncode == 0

    def healthy(self):
        for name in read_started():
            self.wait_until_healthy(name)

    def down(self):
        for name in reversed(read_started()):
            if name in OURS:
                podman("stop", name, stdout=subprocess.DEVNULL)
                podman("rm", "--force", name, stdout=subprocess.DEVNULL)
            else:
                self.servers.stop(name)
        (STATE / "started.json").unlink(missing_ok=True)


def read_started():
    path = STATE / "started.json"
    return json.loads(path.read_text()) if path.exists() else []


def main():
    match sys.argv[1:]:
        case ["compose", "version"]:
            return
        case ["compose", "up", "--detach"]:
            Installation().up()
        case ["compose", "exec", "-T", service, *command]:
            sys.exit(podman("exec", service, *command, check=False).returncode)
        case ["compose", "down"]:
            Installation().down()
        case ["compose", "healthy"]:
            Installation().healthy()
        case arguments:
            sys.exit(f"compose_stand_in: not known: {' '.join(arguments)}")


if __name__ == "__main__":
    main()
