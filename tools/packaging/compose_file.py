"""Reads compose.yaml as Docker's compose plugin does, as far as the file of this project needs it."""

import re

import yaml

VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\})")
SECONDS = {"s": 1, "m": 60, "h": 3600}
# What a service may say. The stand-in fails for anything else, instead of ignoring it.
KNOWN = {
    "build", "cap_drop", "command", "depends_on", "entrypoint", "environment", "healthcheck", "image", "init", "ports",
    "profiles", "read_only", "restart", "secrets", "security_opt", "shm_size", "stop_grace_period", "user", "volumes",
}


def read_variables(folder, environment):
    """The variables of .env; those of the environment win."""
    path = folder / ".env"
    lines = path.read_text().splitlines() if path.exists() else []
    return {**dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")), **environment}


def interpolate(value, variables):
    if isinstance(value, dict):
        return {key: interpolate(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolate(item, variables) for item in value]
    if not isinstance(value, str):
        return value

    def replace(found):
        # An empty variable takes the default, too.
        return (variables.get(found["name"]) or found["default"] or "") if found["name"] else "$"

    return VARIABLE.sub(replace, value)


def read_compose(folder, environment):
    """The file with its variables replaced, and only the services of the chosen profiles."""
    variables = read_variables(folder, environment)
    compose = interpolate(yaml.safe_load((folder / "compose.yaml").read_text()), variables)
    chosen = set(variables.get("COMPOSE_PROFILES", "").split(","))
    services = compose["services"]
    for name, service in services.items():
        if unknown := set(service) - KNOWN:
            raise ValueError(f"{name}: {', '.join(sorted(unknown))} is not known here")
    compose["services"] = {
        name: service for name, service in services.items() if chosen & set(service.get("profiles", chosen))
    }
    return compose


def start_order(services):
    """Pairs of a service and the conditions under which it starts, what it depends on first."""
    order = {}

    def add(name):
        waits = services[name].get("depends_on", {})
        for other in waits:
            add(other)
        order.setdefault(name, {other: wait["condition"] for other, wait in waits.items()})

    for name in services:
        add(name)
    return list(order.items())


def read_seconds(text):
    return int(text[:-1]) * SECONDS[text[-1]]


def patience_seconds(healthcheck):
    """How long a service may take until it is healthy."""
    checks = healthcheck["retries"] * (read_seconds(healthcheck["interval"]) + read_seconds(healthcheck["timeout"]))
    return read_seconds(healthcheck.get("start_period", "0s")) + checks
