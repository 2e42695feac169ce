# Usher's one entry to everything a contributor runs. `make` alone lists the targets.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

GO       ?= go
ARGS     ?=
PKG      ?= ./...
RUN      ?= .

# Package tests start real servers: running as many packages at once as there are cores would starve them.
CORES    := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
JOBS     ?= $(shell echo $$(( ($(CORES) + 1) / 2 )))
GOTEST   := -race -timeout 15m -p $(JOBS)

STEP     := scripts/step
# Developer tools are pinned in tools/go.mod, so that their dependencies stay out of ours. The first use compiles them.
TOOL     := $(GO) tool -modfile=tools/go.mod

.PHONY: help
help: ## list the targets
	@printf 'make TARGET, where TARGET is one of\n\n'
	@sed -n 's/^\([a-z][a-z0-9-]*\):.*## \(.*\)$$/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done
	@printf '\nFirst time here: make run. Before a commit: make check.\n'

.PHONY: run
run: ## build and start usher serve; ARGS='--addr 127.0.0.1:9000' adds flags
	@scripts/doctor go
	$(GO) run ./cmd/usher serve $(ARGS)

.PHONY: build
build: ## build the program into bin/usher
	@scripts/doctor go
	@$(STEP) 'build bin/usher' $(GO) build -o bin/usher ./cmd/usher

.PHONY: test
test: ## everything that must pass: Go with -race, npm, biome, tsc, vitest, vite, Playwright
	@scripts/doctor go node cc chromium
	@$(MAKE) --no-print-directory modules go-build go-vet web-lint web-types web-unit web-drift web-budget go-test e2e
	@printf '\n==> all steps passed\n'

.PHONY: check
check: lint test ## lint and test: what a change has to pass

.PHONY: lint
lint: modules ## golangci-lint, gofumpt, go mod tidy, biome
	@$(STEP) 'golangci-lint' $(TOOL) golangci-lint run ./...
	@$(STEP) 'go.mod is tidy' $(GO) mod tidy -diff
	@$(STEP) 'tools/go.mod is tidy' $(GO) -C tools mod tidy -diff
	@$(MAKE) --no-print-directory web-lint

.PHONY: fmt
fmt: modules ## format Go (gofumpt, import groups) and the WebShell (biome)
	$(TOOL) golangci-lint fmt ./...
	npm run --silent format

.PHONY: generate
generate: ## write the generated files anew
	$(GO) generate ./...

.PHONY: web
web: modules ## build the WebShell into web/dist, which is committed
	@$(STEP) 'vite build' npm run --silent build
	@$(STEP) 'bundle budgets' npm run --silent budget

.PHONY: e2e
e2e: modules build ## drive the built program with a real browser (Playwright, Chromium)
	@scripts/doctor node chromium
	@$(STEP) 'Playwright' npm run --silent e2e -- $(ARGS)

.PHONY: e2e-firefox
e2e-firefox: modules build ## the apps in Firefox ESR too (WebDriver BiDi); not part of make test
	@scripts/doctor node firefox
	@$(STEP) 'Firefox' npx playwright test --config web/e2e/firefox/firefox.config.ts $(ARGS)

.PHONY: bench
bench: build ## compare with the baselines, in one run; results in bin/bench
	@$(GO) run ./internal/bench -usher bin/usher -out bin/bench $(ARGS)

.PHONY: conformance
conformance: conformance-suite ## the official client conformance suite, scenario by scenario
	@USHER_REQUIRE_NODE=1 $(STEP) 'conformance' $(GO) test -count=1 -v -run '$(RUN)' ./internal/conformance

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s) each
	@scripts/fuzz $(or $(FUZZTIME),30s)

.PHONY: clean
clean: ## remove what the build made (not web/dist, which is committed)
	rm -rf bin web/test-results web/playwright-report

# The parts of `make test`, each a target of its own.
.PHONY: modules conformance-suite go-build go-vet go-test web-lint web-types web-unit web-drift web-budget

modules:
	@scripts/doctor node
	@$(STEP) 'npm packages' node scripts/node-modules.mjs

conformance-suite:
	@scripts/doctor go node
	@$(STEP) 'npm packages of the conformance suite' node scripts/node-modules.mjs internal/conformance/testdata

go-build:
	@$(STEP) 'go build' $(GO) build ./...
	@$(STEP) 'go build for macOS' env GOOS=darwin CGO_ENABLED=0 $(GO) build ./...
	@$(STEP) 'go build for Windows' env GOOS=windows CGO_ENABLED=0 $(GO) build ./...

go-vet:
	@$(STEP) 'go vet' $(GO) vet ./...

# USHER_REQUIRE_NODE turns "the sample servers of npm are not installed" from a skip into a failure.
go-test: conformance-suite
	@USHER_REQUIRE_NODE=1 $(STEP) 'go test' \
		$(TOOL) gotestsum --format pkgname --format-hide-empty-pkg -- $(GOTEST) $(PKG)

web-lint: modules
	@$(STEP) 'biome' npm run --silent lint -- $$(test -t 2 || echo --colors=off)

web-types: modules
	@$(STEP) 'tsc' npm run --silent types

web-unit: modules
	@$(STEP) 'vitest' npm run --silent unit

web-drift: modules
	@$(STEP) 'web/dist is current' scripts/web-drift

web-budget: modules
	@$(STEP) 'bundle budgets' npm run --silent budget
