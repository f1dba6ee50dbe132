# Every command builds what it needs: a clean checkout, Python 3.11 or newer with venv and pip, and make are enough.
PYTHON ?= python3
BIN := .venv/bin
# Several processes start from the same source: whoever is first compiles it for the others, and for the next start.
unexport PYTHONDONTWRITEBYTECODE
# The browser and fuzz suites import what only the larger environment has.
SMALL := --ignore tests/browser --ignore tests/fuzz
# Three processes, a file at a time (tests wait a good deal): suites with servers of their own start them once per process.
WORKERS ?= 3
PARALLEL := -n $(WORKERS) --dist loadfile

# What real servers could make different.
HARD := $(addprefix tests/faults/test_,a_failing_database.py a_failing_broker.py killed_processes.py a_kill_storm.py)

.PHONY: help demo demo-reset cluster cluster-stop test test-processes test-processes-services test-services test-cluster test-browser test-fuzz check format messages bench env-demo env-test env-dev

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: env-demo ## the whole portal on 127.0.0.1:$PORT (default 8000), with a simulated four-GPU cluster (CLUSTER=kubernetes: a real one)
	@exec $(BIN)/python -m deploy.demo

demo-reset: env-demo ## forget everything the demo kept
	@$(BIN)/python -m deploy.demo reset

cluster: env-demo ## a real Kubernetes with the real Kueue on the loopback address (needs Go 1.26; CLUSTER_PORT chooses the port)
	@$(BIN)/python -m deploy.control_plane up

cluster-stop: env-demo ## ends it, and leaves nothing
	@$(BIN)/python -m deploy.control_plane down

test: env-test ## the suite that needs nothing but Python
	$(BIN)/python -m pytest $(PARALLEL) $(SMALL) -m "not services and not cluster and not processes" $(ARGS)

test-processes: env-test ## the same Turno as real processes that are killed, paused and cut off (needs nothing but Python)
	$(BIN)/python -m pytest -n 2 --dist loadfile $(SMALL) -m "processes and not services" $(ARGS)

test-processes-services: env-test ## the hardest of these against real PostgreSQL and Redis, which are restarted and flushed
	$(BIN)/python -m deploy.services -- $(BIN)/python -m pytest -m processes $(HARD) $(ARGS)

test-services: env-test ## the same suite against real PostgreSQL and Redis found on this machine
	$(BIN)/python -m deploy.services -- $(BIN)/python -m pytest $(PARALLEL) $(SMALL) --reuse-db -m "not cluster and not processes" $(ARGS)

test-cluster: env-test ## against a real API server with the real Kueue (TURNO_KUBECONFIG, or one of its own: needs Go 1.26)
	$(BIN)/python -m deploy.control_plane with -- $(BIN)/python -m pytest $(SMALL) -m "cluster" $(ARGS)

test-browser: env-dev ## the pages in a real Chromium (CHROMIUM, default /usr/bin/chromium)
	$(BIN)/python -m pytest -m browser $(ARGS)

test-fuzz: env-dev ## calls made up from the API's own schema
	$(BIN)/python -m pytest -m fuzz $(ARGS)

check: env-dev ## format, lint, types, imports, migrations, templates, translations, deployment, budgets
	@$(BIN)/python -m deploy.check

format: env-dev ## put the code into its canonical form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djade --target-version 5.2 $$(find templates -name '*.html') || true

messages: env-test ## collect the sentences to translate, compile the catalogue
	@$(BIN)/python -m deploy.messages update

bench: env-test ## requests per second and latency, side by side with a bare view
	$(BIN)/python -m tests.bench $(ARGS)

env-demo env-test env-dev: env-%:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not there. Turno needs Python 3.11 or newer; name yours with PYTHON=..."; exit 1; }
	@$(PYTHON) deploy/environment.py $*
