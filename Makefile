# The checks of this repository, one target each. Continuous integration (.ci/run)
# calls these targets and nothing else.

# A toolchain of the oldest Go that go.mod supports.
OLDEST := go1.25.4

# Each package is vetted once, by make vet or before its tests. go test would vet it again, with fewer
# checks, for each kind of build.
export GOFLAGS := $(shell go env GOFLAGS) -vet=off

# The modules of go.work.
MODULES = $(shell go list -m -f '{{.Dir}}')

# The modules outside of go.work, besides tools: nobody downloads what they require for the others.
OUTSIDE := $(patsubst %/go.mod,%,$(wildcard contrib/*/go.mod spill/*/go.mod spill/*/*/go.mod examples/*/*/go.mod))

# The packages beside the root package.
ONTOP := ./batch ./bridge ./fan ./hub ./inspect ./semaphore ./source ./workers

# The library, without the tests of the conformance suite itself.
LIBRARY := . $(ONTOP) ./internal/...

# The packages and modules around the library: the suite's mutants, observation, queues on disk, and
# the log aggregator.
AROUND := ./sluicetest ./livepage ./metrics/internal/... ./metrics/prometheus ./metrics/otel ./spill ./bench/logagg/...

# The modules that users import, and the tool.
FOR_USERS := ./... ./spill/... ./jetstream/... ./metrics/prometheus/... ./metrics/otel/... ./cmd/sluice/...

QEMU := qemu-aarch64-static

each-module = @set -e; for dir in $(MODULES); do echo "$${dir\#$(CURDIR)}/: $(1)"; (cd $$dir && GOWORK=off $(1)); done

.PHONY: help
help: ## list the targets
	@grep -h '^[a-z0-9/-]*:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

.PHONY: fmt
fmt: ## gofmt would change no file
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }

.PHONY: tidy
tidy: ## go mod tidy would change no go.mod and no go.sum
	$(call each-module,go mod tidy -diff)
	@for dir in tools $(OUTSIDE); do echo "/$$dir/: go mod tidy -diff"; (cd $$dir && GOWORK=off go mod tidy -diff) || exit 1; done

.PHONY: alone
alone: ## each module builds without go.work
	$(call each-module,go build ./...)

.PHONY: vet
vet: ## go vet for each module, and for the library with each build tag
	go vet work
	go vet -tags sluicecheck . ./internal/segqueue
	go vet -tags floors ./bench/board

.PHONY: outside
outside: ## vet and tests of the modules outside of go.work: contrib, storage for the Collector, the example with SQLite
	@set -e; for dir in $(OUTSIDE); do echo "/$$dir/:"; (cd $$dir && GOWORK=off go vet ./... && SLUICE_TEST=all GOWORK=off go test -count=1 ./...); done

bin/staticcheck: tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck

.PHONY: staticcheck
staticcheck: bin/staticcheck ## staticcheck, at the version that tools/go.mod pins
	bin/staticcheck work
	bin/staticcheck -tags sluicecheck .

.PHONY: boundary
boundary: ## each package imports only what it may, and only internal/park blocks
	go test -count=1 ./internal/boundary

.PHONY: docs
docs: ## the commands, code and links in the documents are valid
	SLUICE_TEST=all go test -count=1 ./docs

.PHONY: dashboard
dashboard: ## the Grafana dashboard has the form that Grafana's schema describes
	cd tools && GOWORK=off go vet ./dashboard && GOWORK=off go test -count=1 ./dashboard

.PHONY: alerts
alerts: ## the alert rules and their tests, and all documented queries, by promtool
	cd tools && GOWORK=off go vet ./alerts && GOWORK=off go test -count=1 ./alerts

.PHONY: workflows
workflows: ## the workflows of GitHub Actions are valid, by actionlint
	cd tools && GOWORK=off go vet ./workflows && GOWORK=off go test -count=1 ./workflows

SPHINX := bin/.sphinx/bin/sphinx-build

$(SPHINX): tools/site/requirements.txt
	rm -rf bin/.sphinx && python3 -m venv bin/.sphinx && bin/.sphinx/bin/pip install -q --disable-pip-version-check -r $<

.PHONY: site
site: $(SPHINX) ## bin/site: a web site of the documents, with every link checked
	# All of it each time (-E): Sphinx drops the words of index.txt for what it does not read again.
	$(SPHINX) -q -E -W --keep-going -j auto -c tools/site -d bin/.doctrees . bin/site
	cp bin/site/README.html bin/site/index.html
	cd tools && GOWORK=off go vet ./site && GOWORK=off go test -count=1 ./site -run Documents

# LOOK adds flags: -shots DIR writes screenshots.
.PHONY: site-look
site-look: site ## the web site in a headless Chromium: readable, light and dark, and its search
	cd tools && GOWORK=off go test -count=1 -timeout=5m ./site -run 'Site|Page|Phone|Search' $(LOOK)

# CAPTURE measures or photographs again: CAPTURE=lab, watch, map or all. Only the lab
# needs a quiet machine. watch needs tmux, and map needs Chromium.
.PHONY: pictures
pictures: ## bring the pictures in docs/pictures up to date
	cd tools && GOWORK=off go run ./pictures -capture '$(CAPTURE)'

.PHONY: pictures-check
pictures-check: ## the pictures in docs/pictures show what the tool and the live page show today
	cd tools && GOWORK=off go vet ./pictures && GOWORK=off go test -count=1 ./pictures

.PHONY: oldest
oldest: ## the oldest supported Go, with 32 bits: vet of the library and the stress tests, the library's tests
	GOARCH=386 GOTOOLCHAIN=$(OLDEST) GOWORK=off go vet ./...
	cd stress && GOARCH=386 GOTOOLCHAIN=$(OLDEST) GOWORK=off go vet ./...
	GOARCH=386 GOTOOLCHAIN=$(OLDEST) GOWORK=off go test $(LIBRARY)

bin/apidiff: tools/go.mod tools/go.sum
	cd tools && GOWORK=off go build -o ../bin/apidiff golang.org/x/exp/cmd/apidiff

.PHONY: release-check
release-check: bin/apidiff ## the next version could be released: install it from tags, in a temporary clone
	cd tools && GOWORK=off go vet ./release && GOWORK=off go test -count=1 ./release
	APIDIFF=$(CURDIR)/bin/apidiff bash tools/release/release.sh check

.PHONY: release
release: bin/apidiff ## prepare and prove VERSION, then add its tags and a branch; PROXY=DIR keeps the modules; push nothing
	APIDIFF=$(CURDIR)/bin/apidiff bash tools/release/release.sh '$(VERSION)' $(if $(PROXY),'$(abspath $(PROXY))')

.PHONY: binaries
binaries: ## bin/VERSION: the tool for each platform by GoReleaser, from the tag, with checksums
	bash tools/release/binaries.sh '$(VERSION)'

.PHONY: 386
386: ## vet of the modules for users for GOARCH=386, where make oldest runs the library's tests
	# vet needs the types of what is compiled: nothing of it runs, so nothing is optimized.
	GOARCH=386 go vet -gcflags='all=-N -l -dwarf=false' $(FOR_USERS)

.PHONY: arm64
arm64: ## each package has its files and imports for GOARCH=arm64
	@GOARCH=arm64 go list -deps -test work >/dev/null

.PHONY: arm64-run
arm64-run: ## the tests of the kinds and engines on arm64, emulated by qemu-user, which lacks the ioctl of loopdisk
	GOARCH=arm64 go test -exec $(QEMU) $$(go list . ./internal/... | grep -v /internal/loopdisk)

# The internal packages with engines and their parts.
ENGINES := $(addprefix ./internal/,park spin selection waitq registry ring segqueue shard locked workpool age broadcast)

# The packages that race-around runs with 1 and 8 Ps.
RACED := $(ONTOP) ./internal/foreign ./internal/stage ./stress/...

# With 1 P a goroutine runs until it waits, so no other one repairs a lost wake-up by chance, and
# nothing spins. With 8 Ps on fewer CPUs the operating system interrupts goroutines within a step.
# With 2, for the engines, a goroutine that spins has its partner on the other CPU.
.PHONY: race
race: ## race detector, with 1 and 8 Ps: the engines, also with 2, and the root package
	go test -race -shuffle=on -cpu=1,8 . $(ENGINES)
	go test -race -shuffle=on -cpu=2 $(ENGINES)

.PHONY: race-around
race-around: ## race detector: the packages on the root package with 1 and 8 Ps, everything around the library once
	go test -race -shuffle=on -cpu=1,8 $(RACED)
	go test -race -shuffle=on $(AROUND)
	go test -race -run TestDamageWhileOpen ./spill/internal/logstore # the only one with two goroutines
	SLUICE_TEST=all go test -race -shuffle=on -skip 'Partition|PowerCut|Upgrade|KeyedLoad' ./jetstream

.PHONY: race-long
race-long: ## race detector, the whole library and all variants in full, ten times: run it before a release
	SLUICE_TEST=long go test -race -shuffle=on -cpu=1,2,8 -count=10 -timeout=2h ./... ./stress/...

bin/jitter: tools/jitter/main.go tools/jitter/pause/pause.go
	cd tools && GOWORK=off go build -o ../bin/jitter ./jitter

# TEST are arguments of go test: make jitter TEST='-count=20 -run TestOut ./fan' EVERY=100
.PHONY: jitter
jitter: TEST ?= ./...
jitter: EVERY ?= 3000
jitter: bin/jitter ## tests with random pauses between what goroutines publish: finds those that depend on who is first
	bin/jitter -every $(EVERY) -- $(TEST)

.PHONY: jitter-check
jitter-check: ## make jitter finds a test that depends on who is first
	cd tools && GOWORK=off go vet ./jitter/... && GOWORK=off go test -count=1 ./jitter

.PHONY: lab
# Its results stay in the checkout, as those of a user do: other checks must not read them.
lab: ## run the lab with its smallest sweep
	@dir=sluice-lab-check && rm -rf "$$dir" && \
	go run ./cmd/sluice lab -quick -o "$$dir" && \
	test -s "$$dir/results.txt" && test -s "$$dir/results.json" && test -s "$$dir/report.html"

# PAGE adds flags: -shots DIR writes screenshots, -update replaces the stored pictures
# of the charts. With SLUICE_TEST=long, page and live also prove that their checks fail, with faults
# that they plant.
.PHONY: page
page: ## report.html in a headless Chromium: no errors, no requests, readable, printable
	cd tools && GOWORK=off go vet ./page && GOWORK=off go test -count=1 -timeout=10m ./page $(PAGE)

# LIVE adds flags: -shots DIR writes screenshots.
.PHONY: live
live: ## the page of package livepage in a headless Chromium, served by a running program
	cd tools && GOWORK=off go vet ./live/... && GOWORK=off go test -count=1 -timeout=10m -parallel=4 ./live $(LIVE)

.PHONY: test
test: ## all tests of all modules, with servers, killed processes and stored corpora
	SLUICE_TEST=all go test work

# The Go versions of the speed board; the page shows the first one. BOARD adds flags: -rust, -only.
BOARD_GO := go1.26.8 go1.27.3

.PHONY: results
results: ## measure the speed board again with each Go version, some ten minutes each, and write bench/RESULTS.md
	@for version in $(BOARD_GO); do GOTOOLCHAIN=$$version go run ./bench/board -json bench/results/$${version%.*}.json $(BOARD) || exit 1; done
	go run ./bench/board -page

# FLOORS chooses some: FLOORS='P=2/Bounded'.
.PHONY: floors
floors: ## what we may not fall below beside the built-in channel and others, measured in turns
	go test -count=1 -timeout=20m -tags floors ./bench/board -run 'TestIdle|TestFloors/$(FLOORS)'

.PHONY: logagg
logagg: ## measure bench/logagg/README.md again
	go run ./bench/logagg bench -o bench/logagg/README.md
	go run ./bench/logagg bench -shares -procs 2 -rounds 12 -o bench/logagg/README.md
