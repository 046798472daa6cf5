"""The manifests of `deploy/kubernetes` are valid, hardened and consistent."""

from typing import Any

import pytest
import yaml

from foreseal.server.settings import from_environment
from repository import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
OBJECTS = [each for file in sorted(KUBERNETES.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())]
WORKLOADS = [each for each in OBJECTS if each["kind"] in ("StatefulSet", "Deployment")]
_NAMES = [f"{each['kind']} {each['metadata']['name']}" for each in OBJECTS]


def _template(workload: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = workload["spec"]["template"]
    return template


@pytest.mark.parametrize("version", ["1.30", "newest"])
@pytest.mark.parametrize("manifest", OBJECTS, ids=_NAMES)
def test_manifest_matches_the_schema_of_kubernetes(manifest: dict[str, Any], version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    validator.validate(manifest, validator.latest_version() if version == "newest" else version, strict=True)


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda each: each["metadata"]["name"])
def test_containers_are_hardened_and_have_probes(workload: dict[str, Any]) -> None:
    spec = _template(workload)["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
    assert spec["automountServiceAccountToken"] is False
    for container in spec["containers"]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"]["drop"] == ["ALL"]
        assert {"startupProbe", "livenessProbe", "readinessProbe", "resources"} <= container.keys()
        assert {each["name"] for each in container["volumeMounts"]} <= {
            *(volume["name"] for volume in spec["volumes"]),
            *(claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", ())),
        }


def test_the_grace_period_exceeds_the_time_to_stop() -> None:
    (node,) = (each for each in WORKLOADS if each["kind"] == "StatefulSet")
    variables = {"FORESEAL_DATADIR": "/var/lib/foreseal", "FORESEAL_DRAIN_DELAY": "5s"}
    settings = next(each["data"]["node.toml"] for each in OBJECTS if each["kind"] == "ConfigMap")
    assert 'drain_delay = "5s"' in settings
    assert _template(node)["spec"]["terminationGracePeriodSeconds"] > from_environment(variables).stop_time


def test_only_one_node_writes_the_chain() -> None:
    (node,) = (each for each in WORKLOADS if each["kind"] == "StatefulSet")
    assert node["spec"]["replicas"] == 1
    assert node["spec"]["volumeClaimTemplates"][0]["spec"]["accessModes"] == ["ReadWriteOncePod"]


@pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget", "NetworkPolicy"])
def test_each_workload_has_its_service_budget_and_policy(kind: str) -> None:
    def labels(each: dict[str, Any]) -> dict[str, str]:
        selector = each["spec"].get("selector") or each["spec"]["podSelector"]
        matching: dict[str, str] = selector.get("matchLabels", selector)
        return matching

    pods = [_template(workload)["metadata"]["labels"] for workload in WORKLOADS]
    assert [labels(each) for each in OBJECTS if each["kind"] == kind] == pods
