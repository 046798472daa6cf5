# Commands for developers of Foreseal: `make` lists them. `make run` and `make test` need Rust, Python 3.11 or newer and a C compiler.

PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
# Folder of test vectors and recorded exchanges, next to the clone. Tests that need them skip with a reason if they are absent.
FORESEAL_SHARED ?= $(abspath ../shared)
# Tests wait for nodes at times: four workers fully use two cores.
PYTEST_WORKERS ?= 4
ARGS ?=
KILLS ?= 200
FAULTS ?= 300
ETCD ?= etcd
WORKERS ?= 2
WORKER_BLOCKS ?= 60
TRANSACTIONS ?= 1000
REQUESTS ?= 20000
SEED ?= 1
CASES ?= 5000
ARITHMETIC_CASES ?= 1000000
CRASHES ?= 2000
LOGS ?= 1000000
EVENTS ?= 1000000
BLOCKS ?= 5000
SCHEDULES ?= 20000
FOLLOWED ?= 400
STEPS ?= 300
FLIPS ?= 1000
DAY ?= 43200
CHAIN ?= 1000000
SEEDS ?= 20000
VIEWERS ?= 200
MINUTES ?= 60
TARGET ?= all
EXECUTIONS ?= 1000000
RUNS ?= 1000
SALES ?= 1000
LIVES ?= 2000
PAYMENTS ?= 10000
ROUNDS ?= 30
MIRI_TOOLCHAIN ?= nightly
WHEEL ?=
X402_SDK ?= $(FORESEAL_SHARED)/vectors/x402-sdk
AREAS := rpc server store cluster optimism pages payments x402

VENV := .venv
BIN := $(VENV)/bin
CORE := python/foreseal/_core.abi3.so
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find rust_core -name '*.rs' -o -name Cargo.toml)
# Tests that start no process and open no socket.
UNIT_TESTS := tests/unit
# Import path of the shared test code and of the campaigns.
TEST_PATH := tests/support:tests/campaigns
PYTHON_SOURCES := python tests benches docs/render.py docs/tables.py docs/scale_tables.py docs/capacity_tables.py docs/start_tables.py docs/opcode_tables.py docs/library_tables.py deploy/grafana/render.py deploy/container/healthcheck.py
COMPILER := tests/support/payments/contracts/compiler

export FORESEAL_SHARED
export VIRTUAL_ENV := $(abspath $(VENV))
export PYO3_PYTHON := $(abspath $(BIN)/python)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help nightly nightly-tests supply interleavings miri rust-coverage $(AREAS:%=test-%) alerts container build wheel-profile run demo test test-rust test-python check lint format bench figures import-figures load compare streams start-figures testing fuzz payments wallets pairings properties arithmetic crashes log-index archive schedules followers simulate simulate-cluster mutants optimism-equal optimism-kills optimism-cost kills kills-workers workers cluster-faults cluster-cost cluster-lag cluster-bootstrap cluster-soak cluster-takeover cluster-upgrade cluster-equal readers flips hostile findings memory day hour payment-rate strangers reconcile promises differential contracts merchant-client explorer-pages explorer-load explorer-archive docs coverage clients package wheel extras lock clean sdk circle-suite shop shop-pictures pay-page-pictures merchant-pages many-cores big-state sustained opcodes

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/.run: requirements/run.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer must be on the PATH" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "Rust (cargo) must be on the PATH" >&2; exit 1; }
	@echo "== Python environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements/run.lock
	@touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.lock requirements/specification.lock
	@echo "== Test and lint tools"
	$(BIN)/python -m pip install --quiet --requirement requirements/dev.lock
	$(BIN)/python -m pip install --quiet --only-binary :all: --requirement requirements/specification.lock \
		|| echo "the execution specification is not available for this Python version: its comparison tests will skip" >&2
	@touch $@

$(VENV)/.fuzz: $(VENV)/.dev requirements/fuzz.lock
	$(BIN)/python -m pip install --quiet --only-binary :all: --requirement requirements/fuzz.lock \
		|| echo "atheris is not available for this Python version: Python fuzz targets run without coverage guidance" >&2
	@touch $@

# One release build of the core serves `make run`, the tests and the benchmarks.
$(CORE): $(VENV)/.run pyproject.toml $(RUST_SOURCES)
	@echo "== Rust core, release build (a first build takes five to ten minutes on two cores)"
	$(BIN)/maturin develop --profile release
	@touch $@

# Third-party modules of the browser pages, from npm. One of the files stands for all.
PAGE_LIBRARIES := python/foreseal/pages/vendor/preact/preact.js
$(PAGE_LIBRARIES): web/package-lock.json web/tools/libraries.py $(wildcard web/declarations/*/*.d.ts) requirements/node.lock | $(VENV)/.run
	@echo "== Libraries of the browser pages"
	$(BIN)/python web/tools/libraries.py

build: $(CORE) $(PAGE_LIBRARIES) ## Create .venv, build the core in the release profile and install the libraries of the pages

# Published figures are measured with the profile of the wheel.
wheel-profile: $(VENV)/.run $(PAGE_LIBRARIES)
	@echo "== Rust core, profile of the wheel"
	$(BIN)/maturin develop --profile dist
	@touch $(CORE)

run: build ## Start a development chain on http://127.0.0.1:8545 (ARGS="--port 9000 --step 100ms")
	@exec $(BIN)/foreseal dev $(ARGS)

demo: build $(VENV)/.dev ## Run the merchant demo: each state of an order on a development chain
	@$(BIN)/foreseal pay demo $(ARGS)

shop: build $(VENV)/.dev ## Run a demo shop with chain, merchant service, checkout and explorer (ARGS="--port 9000")
	@exec $(BIN)/foreseal pay demo --shop $(ARGS)

shop-pictures: build $(VENV)/.dev ## Save pictures of the running demo shop in docs/assets/shop (needs chromium)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m browser.shop_pictures docs/assets/shop

pay-page-pictures: build $(VENV)/.dev ## Save pictures of the pay page of x402 in docs/assets/x402 (needs chromium)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m browser.pay_page_pictures docs/assets/x402

test: test-rust test-python ## Run the tests of the gate, Rust then Python

# A fixed seed gives the same cases every time; `make properties` uses random ones. Each benchmark runs once as a test.
test-rust: $(VENV)/.run
	PROPTEST_RNG_SEED=$(SEED) cargo test --release --workspace --quiet

test-python: build $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m "not nightly" $(ARGS)
	$(BIN)/python -m pytest benches -n $(PYTEST_WORKERS)

# Crates and folders of an area; an area without PostgreSQL and without the tests of `make nightly` takes under three minutes.
CRATES_rpc := foreseal-rpc
CRATES_store := foreseal-journal foreseal-store foreseal-backup
CRATES_cluster := foreseal-quorum foreseal-replication
RUST_TESTS_cluster := -p foreseal-node --test cluster --test replicas --test followers
CRATES_optimism := foreseal-engine
TESTS_rpc := $(addprefix tests/,unit/rpc unit/core integration/core integration/simulate integration/openrpc e2e/rpc)
TESTS_server := $(addprefix tests/,unit/server unit/supervisor integration/server integration/supervisor e2e/server e2e/workers)
TESTS_store := $(addprefix tests/,e2e/cli integration/cli campaigns/flips campaigns/durability)
TESTS_cluster := $(addprefix tests/,unit/cluster integration/cluster e2e/cluster e2e/workers)
TESTS_optimism := $(addprefix tests/,unit/optimism e2e/optimism)
TESTS_pages := $(addprefix tests/,unit/pages integration/pages e2e/browser)
TESTS_payments := $(addprefix tests/,unit/payments integration/payments) --ignore=tests/integration/payments/x402
TESTS_x402 := $(addprefix tests/,integration/payments/x402 e2e/payments/x402)
test-rpc: ## Run the tests of JSON-RPC, in the core and in Python
test-server: ## Run the tests of the servers, the supervisor and workers
test-store: ## Run the tests of journal, store and backup, and of their commands
test-cluster: ## Run the tests of clusters, replicas, followers and workers
test-optimism: ## Run the tests of the Engine API and OP chains
test-pages: ## Run the tests of the browser pages (chromium)
test-payments: ## Run the tests of payments without x402
test-x402: ## Run the tests of x402
$(AREAS:%=test-%): test-%: build $(VENV)/.dev
	$(if $(CRATES_$*),cargo test --release --quiet $(addprefix -p ,$(CRATES_$*)))
	$(if $(RUST_TESTS_$*),cargo test --release --quiet $(RUST_TESTS_$*))
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -q -m "not nightly and not postgresql" $(TESTS_$*) $(ARGS)

# Parts of `make nightly`: all of them run, then those that failed are named.
NIGHTLY := nightly-tests crashes followers schedules flips kills kills-workers hostile mutants wallets payments promises readers simulate \
	simulate-cluster cluster-faults cluster-equal optimism-equal optimism-kills properties pairings interleavings miri coverage \
	rust-coverage supply
nightly: build $(VENV)/.dev ## Run the tests that `make test` leaves out, then the campaigns (a night; NIGHTLY="flips kills" selects)
	failed=; for part in $(NIGHTLY); do $(MAKE) $$part || failed="$$failed $$part"; done; \
	test -z "$$failed" || { echo "nightly: failed: $$failed" >&2; exit 1; }

lint: build $(VENV)/.dev ## Check formatting, clippy, rustdoc, ruff, mypy, the stub of the core, and the language of comments, docs and messages
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --quiet
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml foreseal._core
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m language

check: build $(VENV)/.dev ## Run the checks needed before a commit: formatting, lint and unit tests (under two minutes when warm)
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format --quiet --check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file pyproject.toml foreseal._core
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m language
	cargo test --release --workspace --lib --quiet
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -q $(UNIT_TESTS) $(ARGS)

format: $(VENV)/.dev ## Format Rust and Python sources
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet $(PYTHON_SOURCES)
	$(BIN)/ruff format $(PYTHON_SOURCES)

bench: build $(VENV)/.dev ## Run the criterion and pytest-benchmark suites
	cargo bench --workspace
	$(BIN)/python -m pytest benches -n 0 --benchmark-enable --benchmark-only $(ARGS)

figures: wheel-profile $(VENV)/.dev ## Measure the core against its named baselines (pycryptodome, rlp, trie, eth-bloom, py-evm, alloy-trie, revm) and save the ratios
	$(BIN)/python -m benches.python.peer_ratios
	$(BIN)/python -m benches.python.core_figures
	$(BIN)/python -m benches.python.step_figures

import-figures: $(VENV)/.dev ## Measure the import of chain files with blocks of 5, 100 and 1,000 transfers, and save the rates
	$(BIN)/python -m benches.python.import_figures

load: wheel-profile $(VENV)/.dev ## Measure requests per second against a bare granian app and save the result
	$(BIN)/python -m benches.load $(ARGS)

compare: wheel-profile $(VENV)/.dev ## Measure Foreseal on both transports and every installed peer; save figures and report (about 30 minutes)
	$(BIN)/python -m benches.compare --start foreseal --start foreseal-asgi --start hardhat --start geth --start anvil --peer anvil \
		--json benches/results/compare.json --html target/compare.html $(ARGS)
	$(BIN)/python -m benches.result_file benches/results/compare.json

streams: wheel-profile $(VENV)/.dev ## Measure submission latency and the fan-out to subscribers; save the results (about 10 minutes)
	$(BIN)/python -m benches.load.visible
	$(BIN)/python -m benches.load.sync_send
	$(BIN)/python -m benches.load.fanout

start-figures: wheel-profile $(VENV)/.dev ## Measure the first answer of a node, the first block of foreseal.testing, memory after 180,000 transactions and a keccak from Python, and save the result (about 5 minutes)
	$(BIN)/python -m benches.load.start_figures $(ARGS)

testing: wheel-profile $(VENV)/.dev ## Run 200 web3.py tests on foreseal.testing, eth-tester and anvil (needs Node.js) and save their durations
	$(BIN)/python -m benches.testing_suite $(ARGS)

fuzz: build $(VENV)/.dev $(VENV)/.fuzz ## Fuzz each decoder with EXECUTIONS inputs (TARGET=rlp,http selects decoders) and a live node; save the totals
	PYTHONPATH=$(TEST_PATH) nice -n 10 $(BIN)/python -m fuzz --target $(TARGET) --executions $(EXECUTIONS) --seed $(SEED) \
		--save benches/results/fuzz.json $(ARGS)
	FORESEAL_FUZZ=10000 $(BIN)/python -m pytest tests/unit/server/test_fuzz.py tests/e2e/server/test_random_bodies.py -n 0 -s

payments: build $(VENV)/.dev ## Run RUNS random merchant scenarios per database with crashes, lost responses and reorganizations; kill processes at every crash point
	FORESEAL_PAYMENT_RUNS=$(RUNS) $(BIN)/python -m pytest tests/campaigns/payments/test_random_runs.py -n 0 -s
	FORESEAL_PAYMENT_KILLS=all $(BIN)/python -m pytest tests/campaigns/payments/test_killed_processes.py -n 0
	FORESEAL_PAYMENT_ROUNDS=300 $(BIN)/python -m pytest tests/campaigns/payments/test_two_processes.py -n 0

wallets: build $(VENV)/.dev ## Pay with wallets that are contracts at every entrance (ARGS="--wallets burns_all --verbose"), and by SALES hostile sales; save answers, gas and violations
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m wallets --sales $(SALES) --seed $(SEED) --save benches/results/wallets.json $(ARGS)

wallet-lives: build $(VENV)/.dev ## Run LIVES random lives of a merchant and a seller with one payee on both databases; a failed seed is printed with its command
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m wallets.lives --lives $(LIVES) --seed $(SEED) --processes 2 \
		--save benches/results/wallet_lives.json $(ARGS)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m wallets.lives --lives $(LIVES) --seed $(SEED) --processes 2 --database postgresql \
		--save benches/results/wallet_lives_postgresql.json $(ARGS)

pairings: build $(VENV)/.dev ## Test every x402 client against every x402 server and facilitator, reference and Foreseal
	FORESEAL_PAIRINGS=all $(BIN)/python -m pytest tests/e2e/payments/x402/pairings -n 0 -v

extras: build $(VENV)/.dev ## Install the wheel with each extra alone (PyPI); run every --help and the guides of the extra
	FORESEAL_EXTRAS=all $(BIN)/python -m pytest tests/campaigns/wheels/test_extras.py -n 0 -v
target/x402-sdk/.installed: requirements/x402_sdk.lock $(VENV)/.run
	@echo "== The SDK of x402 and the tools of its tests"
	$(BIN)/python -m venv target/x402-sdk
	target/x402-sdk/bin/python -m pip install --quiet --requirement requirements/x402_sdk.lock
	@touch $@

sdk: build $(VENV)/.dev target/x402-sdk/.installed ## Run the live tests of x402's Python SDK 2.8.0 on nodes (X402_SDK=FOLDER, a checkout of the SDK)
	X402_SDK="$(X402_SDK)" X402_SDK_PYTHON=$(abspath target/x402-sdk/bin/python) \
		$(BIN)/python -m pytest tests/e2e/payments/x402/sdk -n 0 -v -rs $(ARGS)

circle-suite: build $(VENV)/.dev ## Run Circle's tests of FiatToken on a node, and on the project's token (CIRCLE_SUITE=FOLDER, a checkout with its packages)
	CIRCLE_SUITE="$(CIRCLE_SUITE)" $(BIN)/python -m pytest tests/e2e/payments/circle -n 0 -v -rs $(ARGS)

properties: build $(VENV)/.dev ## Run the property tests with CASES random cases each
	PROPTEST_CASES=$(CASES) cargo test --release --workspace --no-fail-fast
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --hypothesis-profile=properties $(ARGS)

arithmetic: $(VENV)/.run ## Compare the libraries of precompiled contracts with those that they replace on ARITHMETIC_CASES inputs each
	PROPTEST_CASES=$(ARITHMETIC_CASES) cargo test --release -p foreseal-evm --lib arithmetic

crashes: $(VENV)/.run ## Interrupt store writes CRASHES times by power loss and CRASHES times by SIGKILL; check that the store is consistent
	FORESEAL_CRASHES=$(CRASHES) cargo test --release -p foreseal-store --test crash

log-index: $(VENV)/.run ## Compare log searches in a store of LOGS logs with a linear scan
	FORESEAL_LOGS=$(LOGS) cargo test --release -p foreseal-store --test store -- many_logs

archive: $(VENV)/.run ## Compare results of a chain of BLOCKS blocks with a replay, before and after a reorganization of 100 blocks
	FORESEAL_ARCHIVE=$(BLOCKS) cargo test --release -p foreseal-rpc --lib tests::archive

schedules: $(VENV)/.run ## Run subscriptions in SCHEDULES random interleavings of producer, pump and clients, and in every interleaving of a smaller set
	FORESEAL_SCHEDULES=$(SCHEDULES) cargo test --release -p foreseal-rpc --lib -- tests::streams::schedules --nocapture

interleavings: ## Run the lock-free code of the core in every interleaving of its threads and every order of its memory, with loom
	cargo test --release -p foreseal-interleavings --features loom

# Miri interprets, so it runs neither C nor assembly: the blocks of LMDB, of Python and of signal handlers are left out. It
# has AVX2, but not the ternary logic of AVX-512, and detects only extensions that the compiler may use everywhere.
miri: ## Run the unsafe blocks of hashing and of the rate limiter in Miri, which finds undefined behaviour (needs a nightly toolchain)
	@cargo +$(MIRI_TOOLCHAIN) miri --version >/dev/null 2>&1 || { \
		echo "Miri must be installed: rustup toolchain install $(MIRI_TOOLCHAIN) --component miri --component rust-src" >&2; exit 1; }
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation cargo +$(MIRI_TOOLCHAIN) miri test -p foreseal-rate-limit
	RUSTFLAGS=-Ctarget-feature=+avx2 MIRIFLAGS=-Zmiri-disable-isolation \
		cargo +$(MIRI_TOOLCHAIN) miri test -p foreseal-keccak --lib -- batch

followers: $(VENV)/.run ## Apply FOLLOWED random changes and restarts to a development chain; compare its follower after each
	FORESEAL_FOLLOWED=$(FOLLOWED) cargo test --release -p foreseal-node --test followers -- random_changes

kills: build $(VENV)/.dev ## Kill a node KILLS times under load; compare the recovered chain with what clients read, and save the summary
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m durability --kills $(KILLS) --seed $(SEED) --save benches/results/kills.json

kills-workers: build $(VENV)/.dev ## Kill sequencer, workers and process groups KILLS times under load (WORKERS=2); compare and save the summary
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m durability --workers $(WORKERS) --kills $(KILLS) --seed $(SEED) \
		--save benches/results/kills_workers.json

workers: build $(VENV)/.dev ## Compare WORKER_BLOCKS blocks served by each of WORKERS workers with the sequencer; measure reads with one to eight workers
	FORESEAL_WORKERS_TESTED=$(WORKERS) FORESEAL_WORKER_BLOCKS=$(WORKER_BLOCKS) $(BIN)/python -m pytest tests/e2e/workers -n 0 -s $(ARGS)
	$(BIN)/python -m benches.load.workers

many-cores: wheel-profile $(VENV)/.dev ## Measure reads, sends, steps and lag with 1 to 12 workers on pinned cores, and the model of more cores (ARGS=--short), and save the result (about 10 minutes)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.many_cores --save benches/results/many_cores.json $(ARGS)

big-state: wheel-profile $(VENV)/.dev ## Measure steps, reads and memory at 10,000 to 10,000,000 accounts, and with a limit of 1 GB (root; ARGS=--short), and save the result (about 30 minutes)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.big_state --save benches/results/big_state.json $(ARGS)

sustained: wheel-profile $(VENV)/.dev ## Load a node for 30 minutes at 80 % of its highest rate, with readers and 200 subscribers (ARGS=--short), and save the result (about 35 minutes)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.sustained --save benches/results/sustained.json $(ARGS)

opcodes: wheel-profile $(VENV)/.dev ## Measure gas per second of every opcode and precompiled contract next to geth 1.17.10 (needs Go; ARGS=--short), and save the result (about 30 minutes)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.opcodes --save benches/results/opcodes.json $(ARGS)

cluster-faults: build $(VENV)/.dev ## Apply FAULTS random faults to a cluster under load (ETCD=PATH of etcd); check every shown step and save takeover times
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m cluster --faults $(FAULTS) --seed $(SEED) --etcd $(ETCD) \
		--save benches/results/cluster_faults.json $(ARGS)

cluster-cost: wheel-profile $(VENV)/.dev ## Measure one node with the local journal and one with the quorum journal, in interleaved rounds (ETCD=PATH, ARGS=--short), and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.cluster.quorum_cost --etcd $(ETCD) --save benches/results/quorum_cost.json $(ARGS)

cluster-lag: wheel-profile $(VENV)/.dev ## Measure the lag of 1, 10 and 100 followers (10 replicas, 90 readers of frames) and memory (ETCD=PATH, ARGS=--short), and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.cluster.replica_lag --etcd $(ETCD) --save benches/results/replica_lag.json $(ARGS)

cluster-bootstrap: wheel-profile $(VENV)/.dev ## Fill an empty replica from a leader with CHAIN blocks that produces; measure time and cadence (ETCD=PATH, ARGS=--short), and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.cluster.bootstrap --blocks $(CHAIN) --etcd $(ETCD) \
		--save benches/results/bootstrap.json $(ARGS)

cluster-soak: build $(VENV)/.dev ## Load a leader with 170 KB x 5 a second for MINUTES minutes; sample memory and disk of all processes (ETCD=PATH, ARGS=--short), and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.cluster.soak --seconds $$(($(MINUTES) * 60)) --etcd $(ETCD) \
		--save benches/results/cluster_soak.json $(ARGS)

cluster-takeover: build $(VENV)/.dev ## Kill a leader under load and print the transcript of the takeover (ETCD=PATH): last step of the old leader, first of the new one, a receipt from before
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.cluster.takeover_transcript --etcd $(ETCD) \
		--save benches/results/takeover.json $(ARGS)

cluster-upgrade: build $(VENV)/.dev ## Restart every process of a cluster under load behind HAProxy (ETCD=PATH): failed reads, lost steps and the longest rejection of a submission, saved
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m cluster_upgrade --seed $(SEED) --etcd $(ETCD) \
		--save benches/results/cluster_upgrade.json $(ARGS)

cluster-equal: build $(VENV)/.dev ## Compare WORKER_BLOCKS blocks served by each worker of a replica with its leader, which has a quorum journal (ETCD=PATH)
	FORESEAL_ETCD=$(ETCD) FORESEAL_WORKERS_TESTED=$(WORKERS) FORESEAL_WORKER_BLOCKS=$(WORKER_BLOCKS) \
		$(BIN)/python -m pytest tests/e2e/workers/test_equals_sealed.py -k replica -n 0 -s $(ARGS)

optimism-equal: BLOCKS := $(if $(filter file,$(origin BLOCKS)),60,$(BLOCKS))
optimism-equal: build $(VENV)/.dev ## Compare every method at the last step with the sealed block for BLOCKS blocks (60) of an OP chain, under a driver that abandons payloads
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m optimism_chain equal --blocks $(BLOCKS) --seed $(SEED) \
		--save benches/results/optimism_equal.json

optimism-kills: build $(VENV)/.dev ## Kill a node under a driver KILLS times, half of them while it replays a recording; check every shown step, and save the summary
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m optimism_chain kills --kills $(KILLS) --seed $(SEED) \
		--recordings $(FORESEAL_SHARED)/vectors/optimism --save benches/results/optimism_kills.json

optimism-cost: wheel-profile $(VENV)/.dev ## Measure newPayload of blocks of 200 and 2,000 transfers, and steps of an OP chain and of a plain chain in interleaved rounds (ARGS=--short), and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.optimism.cost --save benches/results/optimism_cost.json $(ARGS)

readers: build $(VENV)/.dev ## Read EVENTS events of the feed across disconnects and kills; compare with the journal and save the summary
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m readers --events $(EVENTS) --seed $(SEED) --save benches/results/readers.json

day: build $(VENV)/.dev ## Build DAY blocks under a mixed load with accelerated clocks; save resource usage and the state of the store
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m day --blocks $(DAY) --seed $(SEED) --save benches/results/day.json $(ARGS)

flips: build $(VENV)/.dev ## Flip FLIPS single bits in the files of data directories; check that no corrupt value is served or extended
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m flips --flips $(FLIPS) --seed $(SEED) $(ARGS)

hostile: build $(VENV)/.dev ## Attack a node with every pattern (ARGS="--patterns websocket --transport native") and a million malformed requests; save the latency of honest clients
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m hostile --long --save benches/results/hostile_patterns.json $(ARGS)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m hostile.malformed --save benches/results/hostile.json

container: build $(VENV)/.dev ## Build the image with buildah on a Debian base of debootstrap, run it with podman and podman-compose (root; WHEEL=PATH of a wheel, default: built here), and validate the manifests of Kubernetes
	FORESEAL_CONTAINER=all FORESEAL_WHEEL="$(WHEEL)" $(BIN)/python -m pytest tests/campaigns/container tests/unit/deploy/test_container.py tests/unit/deploy/test_kubernetes.py -n 0 -v -s -rs $(ARGS)

alerts: build $(VENV)/.dev ## Provoke alerts on real nodes with a real Prometheus (ARGS="--cause disk"); print which fired, and save them
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m alerts --save benches/results/alerts.json $(ARGS)

findings: build $(VENV)/.dev ## Reproduce the security findings S1 to S12 and N1 to N13 on a build (ARGS="--foreseal PATH --findings N") and save which are open
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m hostile.findings --save benches/results/hostile_findings.json $(ARGS)

memory: build $(VENV)/.dev ## Fill blocks with logs for an hour in a limit of 2 GiB, and save the memory of the node (needs root; ARGS="--workers 2")
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m hostile.memory --save benches/results/memory.json $(ARGS)

hour: build $(VENV)/.dev ## Run a node under load for MINUTES minutes; sample memory, file descriptors and threads, and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m soak --minutes $(MINUTES) --seed $(SEED) --save benches/results/hour.json $(ARGS)

strangers: build $(VENV)/.dev ## Measure the delay of honest payments while wallets whose code does not end sign at the checkout (about 3 minutes)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m strangers_code $(ARGS)

payment-rate: wheel-profile $(VENV)/.dev ## Measure payments a second and processor time, one by one, in bulk and with three requests, on both databases, and save the results (about 15 minutes)
	$(BIN)/python -m benches.payments --mode payments --mode batch --mode orders --payments $(PAYMENTS) \
		--events order.captured --reconcile --save benches/results/payment_rate.json $(ARGS)
	$(BIN)/python -m benches.payments --mode payments --mode batch --mode orders --payments $(PAYMENTS) \
		--database postgresql --processes 1 --processes 2 --events order.captured --reconcile \
		--save benches/results/payment_rate_postgresql.json $(ARGS)
	$(BIN)/python -m benches.payments --database sqlite --database postgresql --payments 4000 --rate 150 \
		--events order.captured --save benches/results/payment_delay.json $(ARGS)

reconcile: build $(VENV)/.dev ## Process PAYMENTS payments through foreseal pay serve, compare its export with the chain, and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m reconcile --payments $(PAYMENTS) --save benches/results/payments.json $(ARGS)

promises: build $(VENV)/.dev ## Build STEPS steps across a kill; verify every pre-confirmation, reject each with one bit flipped, and save the summary
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m promises --steps $(STEPS) --seed $(SEED) --save benches/results/promises.json

differential: build $(VENV)/.dev ## Compare TRANSACTIONS transactions with the execution specification and half as many with anvil, REQUESTS development methods with anvil and with hardhat, and REQUESTS calls and traces with geth (needs Go); save the differences
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential specification --count $(TRANSACTIONS) --seed $(SEED) \
		--save benches/results/specification.json
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential anvil --count $$(($(TRANSACTIONS) / 2)) --seed $(SEED) \
		--save benches/results/anvil.json
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential anvil-development --count $(REQUESTS) --seed $(SEED) \
		--save benches/results/anvil_development.json
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential hardhat-development --count $(REQUESTS) --seed $(SEED) \
		--save benches/results/hardhat_development.json
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential geth-calls --count $(REQUESTS) --seed $(SEED) \
		--save benches/results/geth_calls.json
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m differential geth-traces --count $(REQUESTS) --seed $(SEED) \
		--save benches/results/geth_traces.json

simulate: $(VENV)/.dev ## Simulate faults of disk, clock and process for SEEDS seeds from SEED and save the summary; SEEDS=1 prints every action
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m simulation --seeds $(SEEDS) --seed $(SEED) --save benches/results/simulation.json

simulate-cluster: SEEDS := $(if $(filter file,$(origin SEEDS)),5000,$(SEEDS))
simulate-cluster: $(VENV)/.dev ## Simulate several sequencers with one engine for SEEDS seeds (5000) from SEED and save the summary; SEEDS=1 prints every event
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m simulation --cluster --seeds $(SEEDS) --seed $(SEED) --save benches/results/simulation_cluster.json

mutants: $(VENV)/.run ## Break each invariant on purpose and check that a test fails (needs Node.js; ARGS="skip-sync" PAYMENT_MUTANTS="no-overlap")
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m mutants.rust $(ARGS)
	npm ci --prefix $(COMPILER)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m mutants.payments $(PAYMENT_MUTANTS)

clients: build $(VENV)/.dev ## Run stock libraries at each endpoint and on anvil, ROUNDS rounds of each flow, and save the table (needs Node.js, Go, Cargo, Maven; ARGS="--libraries viem --requests FOLDER")
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m libraries --rounds $(ROUNDS) --seed $(SEED) --save benches/results/libraries.json $(ARGS)

explorer-pages: build $(VENV)/.dev ## Measure size and first paint of the explorer's pages in chromium, save the figures, and take the pictures of docs/
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.explorer.pages --pictures --save benches/results/explorer_pages.json $(ARGS)

merchant-pages: build $(VENV)/.dev ## Measure size and first paint of the dashboard and the checkout in chromium, save the figures, and take the pictures of docs/
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.merchant_pages --pictures --save benches/results/merchant_pages.json $(ARGS)

explorer-load: build $(VENV)/.dev ## Measure calls and submissions with and without VIEWERS open pages of the explorer on one node, and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.explorer.load --viewers $(VIEWERS) --save benches/results/explorer_load.json $(ARGS)

explorer-archive: build $(VENV)/.dev ## Measure the explorer's pages over CHAIN blocks and over ten, and save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m benches.explorer.archive --blocks $(CHAIN) --save benches/results/explorer_archive.json $(ARGS)

merchant-client: build $(VENV)/.dev ## Generate the Python client of the merchant service from its OpenAPI document, and build the TypeScript client (needs Node.js)
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m merchant_client
	@command -v npm >/dev/null || { echo "npm must be on the PATH to build the TypeScript client; the Python client is complete" >&2; exit 1; }
	@npm ci --loglevel=error --ignore-scripts --fetch-retries=1 --prefix web/merchant-client || { \
		echo "the packages of the TypeScript client cannot be installed from the registry of npm; the Python client is complete" >&2; exit 1; }
	npm run --silent build --prefix web/merchant-client

contracts: ## Compile the payment contracts and the contracts of their tests (npm ci, needs Node.js)
	npm ci --prefix $(COMPILER)
	node $(COMPILER)/compile.mjs python/foreseal/payments/contracts/sources python/foreseal/payments/contracts/compiled
	node $(COMPILER)/compile.mjs tests/support/payments/contracts/doubles tests/support/payments/contracts/doubles/compiled

# This script draws the diagrams of the site, so that no page loads a file from another host.
MERMAID := 11.12.0
MERMAID_HASH := 07e37dfa97b337ccc85365d57eddf99b9706f09db3b59b260d0333b23b343c4b
docs/assets/mermaid.min.js:
	@mkdir -p target/mermaid
	cd target/mermaid && npm pack --silent mermaid@$(MERMAID) && tar -xzf mermaid-$(MERMAID).tgz package/dist/mermaid.min.js
	echo "$(MERMAID_HASH)  target/mermaid/package/dist/mermaid.min.js" | sha256sum --check --quiet
	cp target/mermaid/package/dist/mermaid.min.js $@

docs: build $(VENV)/.dev docs/assets/mermaid.min.js ## Render the generated parts of docs/ and build the site in site/
	$(BIN)/python docs/render.py
	$(BIN)/python deploy/grafana/render.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

nightly-tests: build $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m nightly $(ARGS)

# Both programs come from package registries; `tests/unit/architecture/test_supply.py` checks licences and duplicates in the gate.
supply: build $(VENV)/.dev ## Check licences, duplicates and advisories of all dependencies with cargo-deny and pip-audit (needs the advisory databases)
	cargo install --locked --quiet --root target/tools cargo-deny
	target/tools/bin/cargo-deny check
	$(BIN)/python -m venv target/tools/audit && target/tools/audit/bin/python -m pip install --quiet pip-audit
	for lock in run dev; do target/tools/audit/bin/pip-audit --disable-pip --no-deps --requirement requirements/$$lock.lock || exit 1; done

coverage: build $(VENV)/.dev ## Measure the line coverage of the Python sources
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --cov=foreseal --cov-report=term-missing $(ARGS)

# The instrumented build is separate, in target/llvm-cov-target. Crates of the tests themselves do not count.
rust-coverage: $(VENV)/.run ## Measure the line coverage of the Rust sources (needs llvm-tools; ARGS="-p foreseal-pool --html" selects, default: all)
	@test -n "$$LLVM_COV" || test -x "$$(rustc --print target-libdir)/../bin/llvm-cov" || { \
		echo "llvm-cov must be installed: rustup component add llvm-tools" >&2; exit 1; }
	cargo install --locked --quiet --root target/tools cargo-llvm-cov
	PROPTEST_RNG_SEED=$(SEED) target/tools/bin/cargo-llvm-cov llvm-cov --release --ignore-filename-regex '/(tests|testing|benches|fuzz)/' \
		$(or $(ARGS),--workspace)

package: $(VENV)/.run $(PAGE_LIBRARIES) ## Build the wheel in dist/, to install it (five to ten minutes on two cores)
	$(BIN)/maturin build --profile dist --out dist

wheel: build $(VENV)/.dev ## Release check: build wheel and source distribution in dist/, install both without Rust, follow the guides, save the result
	PYTHONPATH=$(TEST_PATH) $(BIN)/python -m distribution --out dist --sdist --save benches/results/wheel.json

lock: $(VENV)/.dev ## Update the pinned Python versions in requirements/*.lock
	$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file requirements/run.lock pyproject.toml requirements/build.in
	cd requirements && ../$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file dev.lock dev.in
	cd requirements && ../$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file specification.lock specification.in
	cd requirements && ../$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file fuzz.lock fuzz.in
	cd requirements && ../$(BIN)/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
		--output-file x402_sdk.lock x402_sdk.in

clean: ## Remove all build outputs
	rm -rf $(VENV) target dist $(CORE) tests/node_modules tests/campaigns/differential/node_modules tests/campaigns/libraries/*/node_modules tests/integration/openrpc/node_modules \
		tests/support/payments/x402/pairings/node_modules $(COMPILER)/node_modules web/node_modules python/foreseal/pages/vendor web/merchant-client/node_modules web/merchant-client/dist \
		web/merchant-client/openapi.json web/merchant-client/src/api.ts
	find . -name __pycache__ -prune -exec rm -rf {} +
