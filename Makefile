# Every command of this project. A machine needs Python 3.11 or newer, git and make.
.DEFAULT_GOAL := help
# A pipe fails when any part of it does: no figure may hide a red test.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
.PHONY: help demo dev check static unit fix test e2e contract bench soak fairness simulate model crash-points \
	least-privilege synth smoke deploy image clean

PYTHON ?= python3
STAGE ?= prod
SECONDS ?= 120
SEEDS ?= 1000
# The worker's image: what `make image` calls it, and what `make deploy` runs (name:tag or name@digest).
IMAGE ?= taskgate-worker
WORKER_IMAGE ?=
# What CDK asks about before a deploy: broadening rights, any-change or never (in a pipeline).
APPROVAL ?= broadening
VENV := .venv/bin
CHOSEN = $(if $(WORKER_IMAGE),--context worker-image=$(WORKER_IMAGE))
READY := .venv/.ready
# These tests wait as often as they work, so one process more than two processors. Longest groups first:
# tests/conftest.py.
BY_GROUP := -n 3 --dist loadgroup --no-loadscope-reorder

help: ## Say what each command does
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

demo: $(READY) ## Bring up the local stack, run real tasks through it, check every claim, end
	$(VENV)/taskgate demo

dev: $(READY) ## Bring up the local stack and keep it until Ctrl-C
	$(VENV)/taskgate dev

check: $(READY) ## Format check, lint, types, import contracts, unit tests
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target static unit

# Its two halves at once: unit tests leave a processor idle now and then, which the type checker takes.
static: $(READY) ## The half of check that runs nothing: format, lint, types, import contracts
	$(VENV)/ruff format --check .
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/lint-imports

unit: $(READY) ## The other half of check: unit tests
	$(VENV)/pytest tests/unit -n auto -q

fix: $(READY) ## Format, and repair what the linter can repair
	$(VENV)/ruff format .
	$(VENV)/ruff check --fix .

test: check ## check, then every other test
	$(VENV)/pytest tests --ignore tests/unit $(BY_GROUP)

e2e: $(READY) ## Only the tests against the deployed local stack
	$(VENV)/pytest tests/e2e $(BY_GROUP)

contract: $(READY) ## schemathesis asks the deployed local stack all that openapi.json allows and forbids
	$(VENV)/python -m tests.contract

bench: $(READY) ## What our layers cost, as ratios in one run
	$(VENV)/python -m bench.bench 2>/dev/null

soak: $(READY) ## Load for SECONDS (default 120) while workers are killed; then count every task
	$(VENV)/python -m tests.soak.soak --seconds $(SECONDS)

fairness: $(READY) ## What one tenant waits beside another's thousand tasks, as a ratio
	$(VENV)/pytest tests/unit/gateway/test_fairness.py -q -rP | grep -E '^fairness|^FAILED|^[0-9]+ (passed|failed)'

simulate: $(READY) ## Play SEEDS worlds (default 1000) in which everything goes wrong
	TASKGATE_SEEDS=$(SEEDS) $(VENV)/pytest tests/simulation/test_simulation.py -q -n 2

model: $(READY) ## Walk every interleaving of all small worlds (some five minutes), print the figures
	TASKGATE_WHOLE_MODEL=1 $(VENV)/pytest tests/simulation/test_model.py -q -s -n 2 --dist load

crash-points: $(READY) ## A fault at every AWS call of a task's life, print the number of points
	$(VENV)/pytest tests/integration/test_crash_points*.py -q -rP -n 2 | grep -E '^crash points|^FAILED|^[0-9]+ (passed|failed)'

least-privilege: $(READY) ## Record the calls of every deployed room, and hold them against its role
	$(VENV)/python -m tests.privilege

synth: $(READY) ## Make the templates of STAGE (default prod), count their resources, lint them
	$(VENV)/python -m cdk_app.cli synth --quiet --context stage=$(STAGE) $(CHOSEN) --output build/cdk.out/$(STAGE)
	$(VENV)/python -m cdk_app.report build/cdk.out/$(STAGE)

smoke: $(READY) ## Try the promises that matter against STAGE=dev|staging|prod, and clean up
	@test "$(origin STAGE)" = "command line" || { echo "Name the stage: make smoke STAGE=dev"; exit 2; }
	$(VENV)/taskgate smoke --stage $(STAGE)

deploy: $(READY) ## Deploy STAGE=dev|staging|prod to the AWS account of your credentials
	@test "$(origin STAGE)" = "command line" || { echo "Name the stage: make deploy STAGE=dev"; exit 2; }
	$(VENV)/python -m cdk_app.cli deploy '**' --context stage=$(STAGE) $(CHOSEN) --output build/cdk.out/$(STAGE) --require-approval $(APPROVAL)

image: ## Build the worker's image as IMAGE (default taskgate-worker); needs Docker
	docker build --file gpu_worker/Dockerfile --tag $(IMAGE) .

clean: ## Remove all that these commands made; what `taskgate dev --persist` keeps stays
	rm -rf .venv build node_modules .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf .taskgate/demo .taskgate/local.json
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# uv comes from PyPI into the environment that it then fills from the lock.
$(READY): uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, for example: make PYTHON=python3.12 demo")'
	@test -x $(VENV)/python || $(PYTHON) -m venv .venv
	@test -x $(VENV)/uv || $(VENV)/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	@$(VENV)/uv sync --frozen --quiet
	@touch $@
