"""All causes of alerts."""

from alerts.cluster_scenarios import CLUSTER_SCENARIOS
from alerts.disk_scenarios import DISK_SCENARIOS
from alerts.load_scenarios import LOAD_SCENARIOS
from alerts.payment_scenarios import PAYMENT_SCENARIOS
from alerts.worker_scenarios import WORKER_SCENARIOS

SCENARIOS = (*PAYMENT_SCENARIOS, *DISK_SCENARIOS, *LOAD_SCENARIOS, *WORKER_SCENARIOS, *CLUSTER_SCENARIOS)
