# What must hold of this repository, one target for each check. Continuous
# integration is .ci/run, which calls these and nothing else.

# The oldest Go that go.mod promises, and a toolchain of it.
OLDEST := go1.25.4

# The modules of go.work.
MODULES = $(shell go list -m -f '{{.Dir}}')

# The packages that build on the kinds.
ONTOP := ./batch ./bridge ./fan ./inspect ./source ./workers

# The library without its conformance suite's own tests.
LIBRARY := . $(ONTOP) ./internal/...

# What shows the library's channels, and takes values past it.
AROUND := ./debug ./codec ./metrics/internal/... ./metrics/prometheus ./metrics/otel ./spill/... ./jetstream/... ./bench/logagg/...

QEMU := qemu-aarch64-static

each-module = @set -e; for dir in $(MODULES); do echo "$${dir\#$(CURDIR)}/: $(1)"; (cd $$dir && GOWORK=off $(1)); done

.PHONY: help
help: ## list the targets
	@grep -h '^[a-z0-9/-]*:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.PHONY: fmt
fmt: ## everything is formatted by gofmt
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }

.PHONY: tidy
tidy: ## the go.mod and go.sum of each module are as go mod tidy leaves them
	$(call each-module,go mod tidy -diff)
	@cd tools && echo "/tools/: go mod tidy -diff" && GOWORK=off go mod tidy -diff

.PHONY: alone
alone: ## each module builds without the workspace
	$(call each-module,go build ./...)

.PHONY: vet
vet: ## go vet, for each module and each build tag
	go vet work
	go vet -tags sluicecheck .

bin/staticcheck: tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

.PHONY: staticcheck
staticcheck: bin/staticcheck ## staticcheck, as pinned in tools/go.mod
	bin/staticcheck work
	bin/staticcheck -tags sluicecheck .

.PHONY: boundary
boundary: ## who may import what, and where a goroutine may wait
	go test -count=1 ./internal/boundary

.PHONY: docs
docs: ## commands, code and links in the documents are real
	go test -count=1 ./docs

.PHONY: oldest
oldest: ## the library and its stress tests, with the oldest Go they promise
	GOTOOLCHAIN=$(OLDEST) GOWORK=off go vet ./...
	GOTOOLCHAIN=$(OLDEST) GOWORK=off go test -short $(LIBRARY)
	cd stress && GOTOOLCHAIN=$(OLDEST) GOWORK=off go vet ./...

.PHONY: 386
386: ## every module for 32 bits, and the library's tests there
	GOARCH=386 go vet work
	GOARCH=386 go test -short $(LIBRARY)

.PHONY: arm64
arm64: ## every module for arm64
	GOARCH=arm64 go vet work

.PHONY: arm64-run
arm64-run: ## the library's tests on arm64, emulated by qemu-user
	GOARCH=arm64 go test -short -exec $(QEMU) $(LIBRARY)

.PHONY: checked
checked: ## the library's tests in a build that checks promises
	go test -short -tags sluicecheck $(LIBRARY)

# One package at a time: a suite beside another one has half a machine, and takes a
# channel that is slow for one that hangs.
.PHONY: race
race: ## race detector, -short: each package of internal ten times and the library once with 1, 2 and 8 Ps, what is around it once
	go test -race -short -shuffle=on -cpu=1,2,8 -count=10 -p=1 ./internal/park ./internal/spin ./internal/selection ./internal/waitq ./internal/ring ./internal/segqueue ./internal/shard ./internal/handoff ./internal/workpool
	go test -race -short -shuffle=on -cpu=1,2,8 -p=1 . ./sluicetest/... ./stress/...
	go test -race -short -shuffle=on -p=1 $(AROUND)

.PHONY: race-long
race-long: ## race detector, ten times all of the library: before a release
	go test -race -shuffle=on -cpu=1,2,8 -count=10 -timeout=2h ./... ./stress/...

.PHONY: lab
lab: ## the lab once, with its smallest sweep
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go run ./cmd/sluice lab -quick -o "$$dir" && \
	test -s "$$dir/results.txt" && test -s "$$dir/results.json" && test -s "$$dir/report.html"

# PAGE are more flags for it: -shots DIR leaves what it saw, -update stores the
# pictures of the charts anew.
.PHONY: page
page: ## report.html in a headless Chromium: quiet, alone, readable, printable
	cd tools && GOWORK=off go vet ./page && GOWORK=off go test -count=1 -timeout=5m ./page $(PAGE)

# LIVE are more flags for it: -shots DIR leaves screenshots.
.PHONY: live
live: ## the page of package debug in a headless Chromium, with a program behind it
	cd tools && GOWORK=off go vet ./live/... && GOWORK=off go test -count=1 -timeout=5m ./live $(LIVE)

.PHONY: test
test: ## every test of every module: what the README says
	go test work

.PHONY: results
results: ## measure the table of floors and goals anew; the guides quote it
	go run ./bench/cmd/ratios -peers -o bench/RESULTS.md
	go run ./bench/logagg bench -o bench/RESULTS.md
	go run ./bench/logagg bench -shares -procs 2 -rounds 12 -o bench/RESULTS.md
	go test ./docs -run TestFigures -update
