# "make help" lists the targets. Each works on all modules of the repository:
# "go test ./..." in the root does not enter a folder with its own go.mod.

GO        ?= go
FUZZTIME  ?= 5s
TESTFLAGS ?=
FAILOVERS ?= 20

GOLANGCI_LINT_VERSION = 2.15.0
ACTIONLINT  = github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
GORELEASER  = github.com/goreleaser/goreleaser/v2@v2.16.0

# SKIP leaves modules out, for a Go that is too old for them.
SKIP    ?=
MODULES = $(filter-out $(SKIP),$(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*'))))

# The linter of the Go installation if it has the pinned version, or one of our
# own: compiling it takes minutes.
GOPATH_LINT := $(shell $(GO) env GOPATH)/bin/golangci-lint
ifeq ($(shell $(GOPATH_LINT) version --short 2>/dev/null),$(GOLANGCI_LINT_VERSION))
LINT = $(GOPATH_LINT)
else
LINT = $(CURDIR)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION)
endif

# A go.work in a folder above would build the modules with each other's
# versions, not with those that a user gets.
export GOWORK = off
export GO FUZZTIME

# Tests start what servers of their own they need, if these are installed.
export GORMFLAKE_TEST_SERVERS ?= all

SHELL       = bash
.SHELLFLAGS = -euo pipefail -c

# each-module runs a command in the folder of every module.
each-module = @for module in $(MODULES); do echo "== $$module: $(1)"; (cd $$module; $(1)); done

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

CHECKS = lint workflows tidy apidiff release-try race traces nocgo oldest image fuzz bench-smoke

.PHONY: check
check: ## all that CI runs: lint, workflows, tidy, apidiff, release-try, race, traces, nocgo, oldest, image, fuzz, bench-smoke
	@for check in $(CHECKS); do start=$$SECONDS; $(MAKE) --no-print-directory $$check; \
		echo "== $$check: $$((SECONDS - start)) s"; done

.PHONY: test
test: ## go test ./...
	$(call each-module,$(GO) test $(TESTFLAGS) ./...)

# The module of integrations tests other libraries, one value at a time: nocgo runs
# it, and building all of them for the race detector too takes minutes.
.PHONY: race
race: override SKIP += ./integrations
race: ## the same under the race detector, in random order (needs a C compiler)
	$(call each-module,CGO_ENABLED=1 $(GO) test -race -shuffle=on -timeout 30m $(TESTFLAGS) ./...)

SEED  ?= 1
SEEDS ?= 20

.PHONY: traces
traces: ## replay simulated fleets of leases in the model of the protocol: SEEDS from SEED on
	$(GO) test -tags replay -timeout 1h -run '^Test(Simulation|SeedRepeats)$$' ./lease -seed=$(SEED) -seeds=$(SEEDS)
	$(GO) test -tags replay -run '^Test(Replay|Fleet|TortureSQLite)' ./lease/internal/... ./lease/sqllease
	$(GO) test ./lease/internal/test/model -usual

.PHONY: simulate
simulate: SEED = $(shell date +%s)
simulate: ## the same until a trace is rejected, from another seed each time
	$(GO) test -tags replay -timeout 0 -run '^TestSimulation$$' ./lease -v -seed=$(SEED) -seeds=0

.PHONY: mutants
mutants: ## build mistakes into the leases, each of which the traces must show
	$(GO) test -tags replay -timeout 1h -run '^TestTraceMutants$$' ./lease -v

# What is tested here, race does not show: a newcomer's machine, which has neither a
# C compiler nor servers, and the libraries.
NEWCOMER = env -u GORMFLAKE_TEST_POSTGRES -u GORMFLAKE_TEST_MARIADB -u GORMFLAKE_TEST_MYSQL -u GORMFLAKE_TEST_REQUIRE \
	-u GORMFLAKE_TEST_MILLIONS -u GORMFLAKE_TEST_SERVERS CGO_ENABLED=0

.PHONY: nocgo
nocgo: ## build and vet without a C compiler; test without servers
	$(call each-module,export CGO_ENABLED=0; $(GO) build ./...; $(GO) vet ./...)
	$(NEWCOMER) $(GO) test $(TESTFLAGS) ./...
	$(NEWCOMER) $(GO) -C integrations test $(TESTFLAGS) ./...

# Its compiler crashes on what the next one compiles.
OLDEST = 1.25.8

.PHONY: oldest
oldest: ## build the core and its tests with the oldest Go that they support
	GOTOOLCHAIN=go$(OLDEST) CGO_ENABLED=0 $(GO) test -run '^$$' ./...

.PHONY: lint
lint: $(LINT) ## golangci-lint
	$(call each-module,$(LINT) run --config $(CURDIR)/.golangci.yml ./...)

.PHONY: fmt
fmt: $(LINT) ## format as lint wants it
	$(call each-module,$(LINT) fmt --config $(CURDIR)/.golangci.yml ./...)

.PHONY: tidy
tidy: ## fail if a go.mod or go.sum is not tidy
	$(call each-module,$(GO) mod tidy -diff)

.PHONY: workflows
workflows: ## check the files of GitHub's workflows
	$(GO) run $(ACTIONLINT)

.PHONY: apidiff
apidiff: ## fail if the last release's API is broken without a word in CHANGELOG.md
	@if git rev-parse HEAD >/dev/null 2>&1; then .ci/apidiff; else echo "no git repository: nothing to compare"; fi

# A copy without a repository, as in an archive, has no commits to release.
.PHONY: release-try
release-try: ## fail if what is committed could not be released and required
	@if git rev-parse HEAD >/dev/null 2>&1; then .ci/release; else echo "no git repository: nothing to try"; fi

.PHONY: image
image: ## try the image of cmd/gormflake/Dockerfile: in Docker, or as root in a folder
	.ci/image

# Compiling goreleaser takes minutes.
.PHONY: release-binaries
release-binaries: ## check .goreleaser.yaml, and build this machine's program into dist
	$(GO) run $(GORELEASER) check
	$(GO) run $(GORELEASER) build --snapshot --clean --single-target

.PHONY: vuln
vuln: ## look for known vulnerabilities that the modules reach; needs vuln.go.dev
	$(call each-module,$(GO) run $(GOVULNCHECK) -test ./...)

.PHONY: newest
newest: ## test with the newest of all that the modules require; changes every go.mod
	$(call each-module,$(GO) get -u -t ./... && $(GO) mod tidy && $(GO) test $(TESTFLAGS) ./...)

# Each target is found in the test binary, so that none is forgotten here.
.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME=5s
	$(call each-module,$(CURDIR)/.ci/fuzz)

# The figures are in what a test logs, hence -v.
.PHONY: torture
torture: ## two million IDs on every store, with faults injected; takes ten minutes
	@for module in . $(filter ./lease/%,$(MODULES)); do echo "== $$module: torture"; (cd $$module; \
		GORMFLAKE_TEST_TORTURE=long $(GO) test -count=1 -timeout 60m -p 1 -parallel 1 -v -run 'Torture|Outage|Crowd' ./...); done

.PHONY: torture-clusters
torture-clusters: ## clusters of every store, with leaders killed and cut off; takes an hour
	@for folder in ./lease $(filter ./lease/%,$(MODULES)); do echo "== $$folder: clusters"; (cd $$folder; \
		GORMFLAKE_TEST_TORTURE=long $(GO) test -count=1 -timeout 60m -p 1 -parallel 1 -v -run Cluster ./...); done

.PHONY: torture-powerloss
torture-powerloss: ## disks of every store lose power, 20 times for each setting (Linux, root); takes ten minutes
	@for folder in ./lease $(filter ./lease/%,$(MODULES)); do echo "== $$folder: power loss"; (cd $$folder; \
		GORMFLAKE_TEST_TORTURE=long $(GO) test -count=1 -timeout 60m -p 1 -parallel 3 -v -run PowerLoss ./...); done

.PHONY: torture-patroni
torture-patroni: ## PostgreSQL under Patroni, its leader killed, frozen and switched over; takes ten minutes
	GORMFLAKE_TEST_TORTURE=long $(GO) test -count=1 -timeout 60m -parallel 2 -v -run Patroni ./lease/sqllease

.PHONY: failover
failover: ## FAILOVERS=20 failovers of each kind; takes ten minutes
	GORMFLAKE_TEST_FAILOVERS=$(FAILOVERS) $(GO) test -count=1 -timeout 60m -parallel 2 -v -run TestFailover ./lease/sqllease

.PHONY: tidb
tidb: ## the plugin, leases and doctor on TiDB, whose server it builds once; takes fifteen minutes
	.ci/tidb bin/tidb

.PHONY: schemas
schemas: ## 300 connected tables moved and taken back on every database; takes ten minutes
	GORMFLAKE_TEST_ROWS=1000000 $(GO) test -p 1 -count=1 -timeout 60m -parallel 1 -v -run 'TestPostgres$$/ThreeHundred|Test(MySQL|SQLite)Large' ./sqlmigrate/internal/postgres ./sqlmigrate/internal/mysql ./sqlmigrate/internal/sqlite

.PHONY: bench
bench: ## compare with other libraries: six runs, each in a build of its own; takes six minutes
	@for run in 1 2 3 4 5 6; do $(GO) -C bench test -bench . -ldflags=-randlayout=$$run . | tee /dev/stderr; done >bench/bench.out
	$(GO) run $(BENCHSTAT) -table .name -col /peer bench/bench.out

.PHONY: bench-smoke
bench-smoke: ## every benchmark once, so that they keep working
	$(call each-module,$(CURDIR)/.ci/benchmarks)

.PHONY: pictures
pictures: ## take the pictures of the README again (needs Chromium)
	PICTURES=$(CURDIR)/docs/images $(GO) -C cmd/gormflake/internal/test/browsertest test -count=1 -run '^TestPictures$$' .

.PHONY: figures
figures: ## draw the figures of the README again, from bench/picture/figures.txt
	$(GO) -C bench/picture run . <bench/picture/figures.txt >docs/images/figures.svg

.PHONY: versions
versions: ## write which versions of the servers were run into docs/engines.md
	GORMFLAKE_TEST_GENERATE=1 $(GO) test -count=1 -run '^TestVersionsThatWereRun$$' ./internal/test/docstest

.PHONY: examples
examples: ## run the main example on SQLite
	$(GO) run ./examples/orders

$(CURDIR)/bin/golangci-lint-$(GOLANGCI_LINT_VERSION):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_LINT_VERSION)
	mv $(CURDIR)/bin/golangci-lint $@
