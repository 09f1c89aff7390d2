"""The chart with every value set of chart/ci: valid, confined, migrated first, and every setting can be set."""

import json
import subprocess

import chart_schema
import kubernetes_validate
import pytest
import yaml
from settings_table import ROOT, read_settings
from versions import workspace_version

CHART = ROOT / "chart"
VALUE_SETS = sorted(path.name for path in (CHART / "ci").glob("*-values.yaml"))
# Node.js checks it: the definitions of the Prometheus Operator are an npm package.
CHECK_SERVICE_MONITOR = ROOT / "tools/packaging/check_service_monitor.mjs"


class UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a key that is there twice, which Kubernetes would accept."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        assert len(keys) == len(set(keys)), f"a key is there twice: {sorted(keys)}"
        return super().construct_mapping(node, deep)


def helm(*arguments, text=None):
    return subprocess.run(["helm", *map(str, arguments)], input=text, capture_output=True, text=True)


def render(*arguments, values=None):
    text = None if values is None else json.dumps(values)
    arguments = [*arguments, *([] if values is None else ["--values", "-"])]
    done = helm("template", "test", CHART, "--namespace", "longshore", *arguments, text=text)
    assert done.returncode == 0, done.stderr
    return [each for each in yaml.load_all(done.stdout, UniqueKeyLoader) if each]


def render_set(name):
    return render("--values", CHART / "ci" / name)


def refuse(values):
    """Why the values are refused."""
    done = helm("template", "test", CHART, "--values", "-", text=json.dumps(values))
    assert done.returncode != 0, "the values were accepted"
    return done.stderr


def find_monitor_faults(manifest):
    done = subprocess.run(["node", CHECK_SERVICE_MONITOR], input=json.dumps(manifest), capture_output=True, text=True)
    assert (done.returncode == 0) is (done.stderr == ""), done.stderr
    return done.stderr


def pick(manifests, kind, suffix=""):
    return [each for each in manifests if each["kind"] == kind and each["metadata"]["name"].endswith(suffix)]


def pod_specs(manifests):
    return [each["spec"]["template"]["spec"] for each in manifests if each["kind"] in {"Deployment", "Job"}]


def containers(manifests):
    for pod in pod_specs(manifests):
        yield from [*pod.get("initContainers", []), *pod["containers"]]


def variables(container):
    return {each["name"]: each.get("value") for each in container["env"]}


def test_there_are_enough_value_sets():
    assert len(VALUE_SETS) >= 6


@pytest.mark.parametrize("name", VALUE_SETS)
def test_a_value_set_is_valid(name):
    done = helm("lint", CHART, "--strict", "--values", CHART / "ci" / name)
    assert done.returncode == 0, done.stdout + done.stderr
    for manifest in render_set(name):
        if manifest["kind"] == "ServiceMonitor":
            assert find_monitor_faults(manifest) == ""
        else:
            kubernetes_validate.validate(manifest, "1.35", strict=True)


def test_a_wrong_service_monitor_is_found():
    [monitor] = pick(render_set("autoscaling-values.yaml"), "ServiceMonitor")
    monitor["spec"]["endpoints"][0]["interval"] = "30 seconds"
    assert "data/spec/endpoints/0/interval must match" in find_monitor_faults(monitor)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_pods_are_confined(name):
    manifests = render_set(name)
    for pod in pod_specs(manifests):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
    for container in containers(manifests):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("name", VALUE_SETS)
def test_mounts_probes_and_services_name_what_exists(name):
    manifests = render_set(name)
    for pod in pod_specs(manifests):
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in ["startupProbe", "livenessProbe", "readinessProbe"]:
                if probe in container:
                    assert container[probe]["httpGet"]["port"] in ports
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in pick(manifests, "Deployment")]
    for service in pick(manifests, "Service"):
        assert any(service["spec"]["selector"].items() <= each.items() for each in labels)


@pytest.mark.parametrize("name", VALUE_SETS)
def test_the_chart_contains_no_secret(name):
    assert pick(render_set(name), "Secret") == []


def test_migrations_run_before_new_processes():
    manifests = render_set("small-values.yaml")
    [job] = pick(manifests, "Job")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == ["migrate"]
    # Objects of the chart do not exist yet when the hook of an install runs.
    assert "serviceAccountName" not in pod
    assert not any("configMap" in volume for volume in pod["volumes"])
    assert all("initContainers" not in each for each in pod_specs(manifests))


def test_migrations_can_run_in_init_containers_or_not_at_all():
    manifests = render_set("init-values.yaml")
    assert pick(manifests, "Job") == []
    assert [pod["initContainers"][0]["args"] for pod in pod_specs(manifests)] == [["migrate"], ["migrate"]]
    manifests = render_set("locked-values.yaml")
    assert pick(manifests, "Job") == []
    assert all("initContainers" not in pod for pod in pod_specs(manifests))


def test_every_setting_can_be_set():
    settings = read_settings()
    plain = {each.name: "value" for each in settings if not each.can_be_file}
    # Ports and times are numbers in the manifests.
    plain |= {"SVC_LISTEN": "[::]:8000", "SVC_METRICS_LISTEN": "[::]:9000", "SVC_DRAIN_SECONDS": 60}
    secrets = {each.name: {"name": "longshore", "key": each.name.lower()} for each in settings if each.can_be_file}
    for container in containers(render(values={"settings": plain, "secrets": secrets})):
        given = variables(container)
        assert {name: given.get(name) for name in plain} == {name: str(value) for name, value in plain.items()}
        assert {name for name in secrets if f"{name}_FILE" not in given} == set()
    addresses = {each.name: "postgres://longshore@db/longshore" for each in settings if each.is_address}
    for container in containers(render(values={"settings": addresses})):
        assert addresses.items() <= variables(container).items()


def test_secrets_become_files_that_settings_name():
    manifests = render_set("files-values.yaml")
    for container in containers(manifests):
        assert variables(container)["SVC_DATABASE_URL_FILE"] == "/etc/longshore/secrets/SVC_DATABASE_URL"
    for pod in pod_specs(manifests):
        [volume] = [volume for volume in pod["volumes"] if volume["name"] == "secrets"]
        files = {
            item["path"]: (source["secret"]["name"], item["key"])
            for source in volume["projected"]["sources"]
            for item in source["secret"]["items"]
        }
        assert files["SVC_DATABASE_URL"] == ("longshore", "database-url")
        assert files["SVC_SIGNING_ROOT"] == ("longshore", "SVC_SIGNING_ROOT")
        assert files["redis-ca.pem"] == ("redis-tls", "ca.crt")
        # Only workers call providers.
        assert ("openai" in files) == (pod["containers"][0]["args"] == ["work"])


def test_a_service_account_can_have_a_role_for_the_object_store():
    manifests = render_set("role-values.yaml")
    [account] = pick(manifests, "ServiceAccount")
    assert account["metadata"]["annotations"] == {
        "eks.amazonaws.com/role-arn": "arn:aws:iam::123456789012:role/longshore"
    }
    for deployment in pick(manifests, "Deployment"):
        assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == account["metadata"]["name"]
    for container in containers(manifests):
        assert variables(container)["SVC_OBJECTS_CREDENTIALS"] == "environment"
    for container in containers(render_set("files-values.yaml")):
        assert "SVC_OBJECTS_CREDENTIALS" not in variables(container)


def test_large_numbers_are_written_in_full():
    for container in containers(render_set("files-values.yaml")):
        assert variables(container)["SVC_STORAGE_BYTES_PRO"] == "536870912000"


def test_pods_get_more_time_to_stop_than_a_shutdown_takes():
    for name, seconds in [("small-values.yaml", 45), ("shards-values.yaml", 130)]:
        for deployment in pick(render_set(name), "Deployment"):
            assert deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == seconds


def test_a_change_of_the_catalogue_restarts_pods():
    def checksums(models):
        deployments = pick(render(values={"models": models}), "Deployment")
        return {each["spec"]["template"]["metadata"]["annotations"]["checksum/files"] for each in deployments}

    assert len(checksums("a = 1")) == 1
    assert checksums("a = 1") != checksums("a = 2")


def test_workers_scale_by_the_age_of_the_oldest_waiting_item():
    manifests = render_set("autoscaling-values.yaml")
    [scaler] = pick(manifests, "HorizontalPodAutoscaler", "-work")
    [metric] = scaler["spec"]["metrics"]
    assert metric["external"]["metric"] == {"name": "longshore_oldest_waiting_age_seconds"}
    assert metric["external"]["target"] == {"type": "Value", "value": "20"}
    assert all("replicas" not in each["spec"] for each in pick(manifests, "Deployment"))


def test_the_documented_query_uses_a_metric_that_exists():
    page = (ROOT / "docs/kubernetes.md").read_text()
    assert 'longshore_stage_oldest_waiting_age_seconds{stage=~"gather|dispatch|deliver"' in page
    # A Rust test compares this page with the code.
    assert "`longshore_stage_oldest_waiting_age_seconds" in (ROOT / "docs/metrics.md").read_text()


def test_network_policies_allow_what_is_named():
    serve, work = pick(render_set("locked-values.yaml"), "NetworkPolicy")
    assert serve["spec"]["policyTypes"] == work["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert [rule["ports"][0]["port"] for rule in serve["spec"]["ingress"]] == ["http", "metrics"]
    assert [rule["ports"][0]["port"] for rule in work["spec"]["ingress"]] == ["metrics"]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"settings": {"SVC_LISTN": "x"}}, "SVC_LISTN"),
        ({"settings": {"SVC_SIGNING_ROOT": "x"}}, "SVC_SIGNING_ROOT"),
        ({"settings": {"SVC_DATABASE_URL": "postgres://longshore:secret@db/longshore"}}, "SVC_DATABASE_URL"),
        ({"secrets": {"SVC_LISTEN": {"name": "x"}}}, "SVC_LISTEN"),
        ({"secrets": {"SVC_DATABASE_URL": "postgres://db"}}, "SVC_DATABASE_URL"),
        ({"settings": {"SVC_REDIS_URL": "redis://a"}, "secrets": {"SVC_REDIS_URL": {"name": "x"}}}, "remove one"),
        ({"serve": {"replica": 3}}, "replica"),
        ({"migrate": {"mode": "later"}}, "migrate"),
        ({"objectStore": {"credentials": "role"}}, "objectStore"),
        ({"ingress": {"enabled": True}}, "ingress.host"),
    ],
)
def test_wrong_values_are_refused(values, reason):
    assert reason in refuse(values)


def test_the_schema_has_every_setting():
    committed = chart_schema.SCHEMA.read_text()
    made = chart_schema.render(chart_schema.make_schema(json.loads(committed), read_settings()))
    assert made == committed, "chart/values.schema.json is stale: ./dev chart --schema"


def test_the_chart_has_the_version_of_the_checkout():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["version"] == chart["appVersion"] == workspace_version()
