"""The servers of this machine that stand in for images of other projects: same names, ports, commands and settings."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

STOP_SECONDS = 30
ANSWER_SECONDS = 3
# clamd's one signature: the harmless EICAR test file, in halves so that scanners do not report this source file.
EICAR = [b"X5O!P%@AP[4\\PZX54(P^)7CC)7}", b"$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"]
# It leaves them behind.
WEED_SOCKETS = "seaweedfs-*-grpc-*.sock"


class Servers:
    def __init__(self, folder, state, addresses):
        self.folder, self.state, self.addresses = folder, state, addresses

    def start(self, name, service):
        command, options = getattr(self, f"prepare_{name}")(service)
        with (self.state / f"{name}.log").open("ab") as log:
            server = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **options
            )
        (self.state / f"{name}.pid").write_text(str(server.pid))

    def stop(self, name):
        path = self.state / f"{name}.pid"
        pid = int(path.read_text())
        # PostgreSQL waits for its clients after SIGTERM.
        signal_group(pid, signal.SIGINT if name == "postgres" else signal.SIGTERM)
        until = time.monotonic() + STOP_SECONDS
        while is_running(pid) and time.monotonic() < until:
            time.sleep(0.1)
        signal_group(pid, signal.SIGKILL)
        path.unlink()
        if name == "objects":
            for each in Path("/tmp").glob(WEED_SOCKETS):
                each.unlink(missing_ok=True)

    def volume(self, name):
        folder = self.state / "volumes" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def here(self, name, text):
        """A service listens on its own address instead of on all addresses of its container."""
        return text.replace("0.0.0.0", self.addresses[name]).replace("127.0.0.1", self.addresses[name])

    def prepare_postgres(self, service):
        environment = service["environment"]
        data = self.volume("postgres")
        programs = Path(os.environ["COMPOSE_POSTGRES"])
        user = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"} if os.geteuid() == 0 else {}
        if not (data / "PG_VERSION").exists():
            if user:
                shutil.chown(data, "postgres", "postgres")
            secret = self.folder / "secrets" / Path(environment["POSTGRES_PASSWORD_FILE"]).name
            with tempfile.NamedTemporaryFile("w") as password:
                password.write(secret.read_text())
                password.flush()
                if user:
                    shutil.chown(password.name, "postgres")
                quietly(
                    [programs / "initdb", "--pgdata", data, "--username", environment["POSTGRES_USER"], "--pwfile",
                     password.name, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8"],
                    **user,
                )
            create = f"create database {environment['POSTGRES_DB']}\n".encode()
            quietly([programs / "postgres", "--single", "-D", data, "postgres"], input=create, **user)
        settings = {"listen_addresses": self.addresses["postgres"], "port": "5432", "unix_socket_directories": ""}
        options = [option for item in settings.items() for option in ("-c", "=".join(item))]
        return [programs / "postgres", "-D", data, *options], user

    def prepare_valkey(self, service):
        # Redis takes the same options.
        _, *options = service["command"]
        program = shutil.which("valkey-server") or "redis-server"
        return [program, *(self.here("valkey", option) for option in options)], {"cwd": self.state}

    def prepare_objects(self, service):
        [script] = service["command"]
        script = self.here("objects", script).replace("/run/secrets/", f"{self.folder}/secrets/")
        script = script.replace("-dir=/data", f"-dir={self.volume('objects')}")
        # It announces its name, so the name must be known to it: in its own view of /etc/hosts.
        hosts = self.state / "hosts"
        lines = [f"{address} {name}" for name, address in self.addresses.items()]
        hosts.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        script = f"mount --bind {hosts} /etc/hosts && {script}"
        weed = Path(os.environ["COMPOSE_WEED"]).parent
        environment = {**os.environ, "PATH": f"{weed}:{os.environ['PATH']}"}
        return ["unshare", "--mount", *service["entrypoint"], script], {"env": environment, "cwd": self.state}

    def prepare_scanner(self, service):
        signatures, streams = self.volume("signatures"), self.state / "streams"
        streams.mkdir(exist_ok=True)
        (signatures / "test.ndb").write_text(f"Test.Eicar:0:*:{b''.join(EICAR).hex()}\n")
        places = {
            "DatabaseDirectory": signatures,
            "TemporaryDirectory": streams,
            "LocalSocket": self.state / "clamd.sock",
            "TCPAddr": self.addresses["scanner"],
        }
        lines = []
        for line in (self.folder / "clamd.conf").read_text().splitlines():
            name = line.split()[0]
            # There may be no such user here.
            if name != "User":
                lines.append(f"{name} {places[name]}" if name in places else line)
        settings = self.state / "clamd.conf"
        settings.write_text("\n".join([*lines, ""]))
        # Debian's AppArmor profile depends on the path of the program.
        program = self.state / "clamd"
        shutil.copy(shutil.which("clamd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin"), program)
        return [program, f"--config-file={settings}"], {}

    def prepare_receiver(self, service):
        [volume] = service["volumes"]
        source, target, _ = volume.split(":")
        command = [self.here("receiver", word) for word in service["command"]]
        return [str((self.folder / source).resolve()) if word == target else word for word in command], {}

    def is_healthy(self, name, test):
        if name == "scanner":
            return self.ping_scanner()
        program, *arguments = [self.here(name, word) for word in test]
        commands = {
            "pg_isready": [Path(os.environ.get("COMPOSE_POSTGRES", "")) / "pg_isready", *arguments],
            "valkey-cli": ["redis-cli", "-h", self.addresses[name], *arguments],
            "wget": ["curl", "--silent", "--fail", "--output", "/dev/null", arguments[-1]],
        }
        command = commands.get(program, [program, *arguments])
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def ping_scanner(self):
        try:
            with socket.create_connection((self.addresses["scanner"], 3310), ANSWER_SECONDS) as stream:
                stream.sendall(b"nPING\n")
                return stream.recv(16) == b"PONG\n"
        except OSError:
            return False


def quietly(command, **options):
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout.decode(errors='replace')}")


def signal_group(pid, number):
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        pass


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
