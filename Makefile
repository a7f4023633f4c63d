# `make up` runs this repository on its own engine; `make test` is all that CI does.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

CARGO ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
ENGINE := $(TARGET_DIR)/release/engine
TOOLS_DIR := $(or $(ENGINE_TOOLS_DIR),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/engine-tools)

# The cases mostly wait, so several run at once.
RUNTIME_JOBS ?= 12
RUNTIME = python3 -B conformance-tests/runtime/run.py --check $(ENGINE) --quiet --jobs $(RUNTIME_JOBS)

# Tests find what they need to run for real here: a Docker engine and a registry of their own, and a cluster on them.
GROUND ?= scripts/ground.sh run
CLUSTER ?= scripts/cluster.sh run
TEST = $(CARGO) test --locked --release --workspace --no-fail-fast
# Each package has one binary of integration tests, in which modules name what they need.
INTEGRATION = $(TEST) --test '*' --
export ENGINE_TESTS_NEED_ALL = 1

export PATH := $(TOOLS_DIR)/bin:$(PATH)

.PHONY: help
help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: up
up: build ## Build the engine and run this repository's Tiltfile with it
	@exec $(ENGINE) up

.PHONY: test
test: tools lint macos build ## Check everything: format, lints, docs, tests, conformance, run-time cases, examples
	$(TEST) --lib --bins
	$(GROUND) $(INTEGRATION) --skip cluster::
	$(CLUSTER) $(INTEGRATION) cluster::
	$(RUNTIME)

.PHONY: check
check: export ENGINE_TESTS_NEED_ALL =
check: ## Check what needs neither Docker, a browser nor a cluster: format, lints, unit tests, transcripts
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) test --locked --workspace --lib --bins --quiet
	$(CARGO) test --locked -p conformance-tests --test conformance --quiet policy::

.PHONY: docker-test
docker-test: tools build ## Run only what needs Docker, on an engine and a registry of its own
	$(GROUND) $(INTEGRATION) docker::

.PHONY: cluster-test
cluster-test: tools build ## Run only what needs Kubernetes, on a cluster of its own
	$(CLUSTER) $(INTEGRATION) cluster::

.PHONY: faults
faults: tools build ## Let everything go wrong with a cluster FAULT_ROUNDS times (default 20), and say how long it took
	ENGINE_FAULT_ROUNDS=$${FAULT_ROUNDS:-20} ENGINE_FAULT_SECONDS=$${FAULT_SECONDS:-60} \
	    $(CLUSTER) $(CARGO) test --locked --release -p engine --test engine -- --nocapture --test-threads 6 cluster::faults

.PHONY: stress
stress: tools build ## Let a command print as fast as it can STRESS_ROUNDS times (default 20), and count what is kept
	ENGINE_STRESS_ROUNDS=$${STRESS_ROUNDS:-20} \
	    $(CARGO) test --locked --release -p engine --test engine -- --nocapture up::flood::two_hundred_thousand_lines

.PHONY: lint
lint: ## Check format, lints and documentation, with warnings denied
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --release --workspace --no-deps --lib

.PHONY: macos
macos: tools ## Check that everything compiles for macOS, where Rust's libraries for it can be had
	@CARGO=$(CARGO) scripts/macos.sh check

.PHONY: fmt
fmt: ## Format the code
	$(CARGO) fmt --all

.PHONY: build
build: ## Build the engine as the tests use it
	$(CARGO) build --locked --release --workspace --bins

.PHONY: conformance
conformance: tools build ## Compare the engine with what was recorded from Tilt
	$(TARGET_DIR)/release/conformance-tests --quiet --check $(ENGINE)

.PHONY: runtime
runtime: tools build ## Compare what the engine does over time with what was recorded from Tilt
	$(RUNTIME)

.PHONY: bench
bench: tools build ## Measure time and memory, beside Tilt if TILT_BIN is set; BENCH_QUICK=1 for a short run
	scripts/bench.sh $(ENGINE)

.PHONY: fuzz
fuzz: ## Throw random input at the library for FUZZ_SECONDS per target (default 300)
	FUZZ_SECONDS=$${FUZZ_SECONDS:-300} FUZZ_SEED=$${FUZZ_SEED:-$$RANDOM} \
	    $(CARGO) test --locked --release -p builtins --test builtins -- --nocapture fuzz::

.PHONY: tools
tools: ## Fetch the commands that tests call into a cache folder
	@scripts/tools.sh
	@scripts/macos.sh tools

.PHONY: ground-up
ground-up: ## Start a Docker engine and a registry of our own, for tests; scripts/ground.sh env leads there
	@scripts/ground.sh up

.PHONY: ground-down
ground-down: ## End them, and remove what they made
	@scripts/ground.sh down

.PHONY: cluster-up
cluster-up: tools ## Start a Kubernetes of our own on them, for tests; scripts/cluster.sh env leads there
	@scripts/cluster.sh up

.PHONY: cluster-down
cluster-down: ## End it, and remove what it made
	@scripts/cluster.sh down
