# Everything that is done to Jackline is done through make. `make help` lists it.
# It works with the make that macOS ships (3.81), so no newer features here; longer recipes are scripts in scripts/.

.DEFAULT_GOAL := help

GO       ?= go
RUN_ARGS ?= web
FUZZTIME ?= 60s
BENCH    ?= .
PREFIX   ?= $(HOME)/.local
SYSTEMS  ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

VERSION      := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS      := -s -w -X main.version=$(VERSION)
LINT_VERSION := $(shell awk '$$1 ~ /golangci-lint\/v2$$/ { print $$2 }' tools/go.mod)
LINT         := .cache/bin/golangci-lint-$(LINT_VERSION)

export GO

.PHONY: help run build install uninstall test test-go test-ui test-browser test-oracle test-model check ci fmt vet arch lint vuln mutation fuzz bench performance cross \
	generate generated ui ui-current clean

help: ## list what make can do
	@echo 'make run starts Jackline and opens its page. Also:'
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'Settings: RUN_ARGS="$(RUN_ARGS)" FUZZTIME=$(FUZZTIME) BENCH=$(BENCH) PREFIX=$(PREFIX) VULNDB=folder CHROMIUM=program INSTALL=no'

run: build ## build and start Jackline, page on 127.0.0.1:7717
	@./bin/jackline $(RUN_ARGS)

build: ## build bin/jackline: one static file
	@scripts/need go
	@scripts/need program
	@echo 'building bin/jackline $(VERSION); the first time, what it needs is fetched and compiled, line by line:'
	@CGO_ENABLED=0 $(GO) build -v -trimpath -ldflags '$(LDFLAGS)' -o bin/jackline ./cmd/jackline
	@echo 'built bin/jackline'

install: build ## install program, manual and completion into PREFIX
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install

uninstall: ## remove what make install put there
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install remove

test: test-go test-ui test-browser ## all tests: Go with the race detector, the page, a real browser
	@echo 'all tests passed'

test-go: ## only the Go tests
	@scripts/test-go

test-ui: ## only the page's unit tests
	@scripts/test-ui

test-browser: ## only the tests in a real browser
	@scripts/test-browser

# The libraries are large, so they are compiled only here and kept in Go's cache. vet looks at the module here too.
test-oracle: ## the official client libraries against the servers of our tests
	@scripts/need go
	@cd oracle && $(GO) vet ./... && $(GO) test ./...

# Not part of test: the first time it fetches 175 MB and builds two engines. TASKS=3 writes the tables of docs/models.md.
test-model: ## real engines with a small real model, set up in .cache/model
	@scripts/test-model

check: fmt vet arch generated ui-current lint cross test-go test-oracle ## what a change must pass before it is reviewed
	@echo 'check passed'

ci: ## .ci/run: what runs on every change
	@.ci/run

fmt: ## fail if a file is not formatted
	@scripts/need go
	@bad=$$(git ls-files -co --exclude-standard -- '*.go' | while read -r f; do [ ! -f "$$f" ] || echo "$$f"; done | \
		xargs "$$($(GO) env GOROOT)/bin/gofmt" -s -l); \
	if [ -n "$$bad" ]; then echo "not formatted (run gofmt -s -w on them):"; echo "$$bad"; exit 1; fi
	@echo 'gofmt: ok'

vet: ## go vet, tools included
	@scripts/need go
	@$(GO) vet ./...
	@cd tools && $(GO) vet ./...
	@echo 'vet: ok'

arch: ## the architecture test alone
	@scripts/need go
	@$(GO) test -count=1 -run '^TestArch' .

lint: $(LINT) ## golangci-lint, built once from tools/go.mod
	@$(LINT) run ./...

# The linter comes with a very large module graph. It is built from a module of its own and kept.
$(LINT):
	@scripts/need go
	@echo 'building golangci-lint $(LINT_VERSION): 3 to 6 minutes on 2 cores, once; kept in .cache/bin'
	@mkdir -p .cache/bin
	@cd tools && $(GO) build -trimpath -ldflags '-s -w' -o ../$(LINT) \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint

vuln: ## govulncheck; VULNDB=folder for a local database
	@scripts/vuln

mutation: ## take away each stage of the gate, and fail if no test notices; ONLY=seal for some (some ten minutes)
	@scripts/need go
	@$(GO) run -C tools ./mutate .. $(if $(ONLY),'$(ONLY)')

fuzz: ## every fuzz target for FUZZTIME
	@scripts/fuzz $(FUZZTIME)

bench: ## benchmarks; BENCH=pattern
	@scripts/need go
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

performance: ## measure the real program beside a bare loop, and write docs/performance.md
	@scripts/need go
	@$(GO) run ./bench

cross: ## build and vet for every system, programs in bin/cross
	@LDFLAGS='$(LDFLAGS)' scripts/cross $(SYSTEMS)

generate: ## write the files that are made from code
	@scripts/need go
	@$(GO) generate ./...
	@[ ! -f ui/web/package.json ] || scripts/need npm
	@$(GO) run -C tools ./notices ..

generated: ## fail if make generate would change something
	@scripts/unchanged 'make generate' -- $(MAKE) --no-print-directory generate

ui: ## build the page from ui/web into ui/dist
	@scripts/ui-build

ui-current: ## fail if ui/dist is not what ui/web builds
	@scripts/unchanged 'make ui' -- scripts/ui-build

clean: ## remove what was built; the linter and the module cache stay
	rm -rf bin .cache/test coverage ui/web/node_modules ui/web/test-results
