"""All causes of alerts."""

from alerts.cluster_scenarios import CLUSTER_SCENARIOS
from alerts.database_scenarios import DATABASE_SCENARIOS
from alerts.disk_scenarios import DISK_SCENARIOS
from alerts.etcd_scenarios import ETCD_SCENARIOS
from alerts.load_scenarios import LOAD_SCENARIOS
from alerts.payment_scenarios import PAYMENT_SCENARIOS
from alerts.store_scenarios import STORE_SCENARIOS
from alerts.worker_scenarios import WORKER_SCENARIOS

SCENARIOS = (
    *PAYMENT_SCENARIOS,
    *DATABASE_SCENARIOS,
    *DISK_SCENARIOS,
    *STORE_SCENARIOS,
    *LOAD_SCENARIOS,
    *WORKER_SCENARIOS,
    *ETCD_SCENARIOS,
    *CLUSTER_SCENARIOS,
)
