"""A cluster on one machine, for development and tests: etcd members, node processes and a proxy in front of them."""
