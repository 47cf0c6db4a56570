# Everything a person types in this repository. `make` alone lists it.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 60s
SERVICE := ./server ./cmd/perksd
# Both programs tell their commit, even where GOFLAGS keeps it out of other builds.
BUILD := go build -buildvcs=auto -trimpath -ldflags '-s -w -X example.com/perks/api.version=$(VERSION)'
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

.PHONY: build
build: ## build perksd and perksctl into bin/
	$(BUILD) -o bin/ ./cmd/perksd ./cmd/perksctl

.PHONY: demo
demo: build ## start a server with sample data and show the client at work
	@go run ./cmd/dev/demo

# Most tests wait for a disk, a server or a clock now and then, so twice as many test programs run at once as there are processors.
AT_ONCE ?= $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN))

.PHONY: test
test test-all test-postgres databases race: export TMPDIR = $(shell .ci/temporary-folder)
test: test-programs lint ## run every check and every test
	@$(MAKE) --no-print-directory -j 2 test-all test-postgres

# go test need not vet again what lint has vetted. The test of slow connections measures memory, so nothing may run beside it: it is
# part of make endurance.
.PHONY: test-all
test-all:
	go test -vet=off -p $(AT_ONCE) -skip '^TestSlowAndIdleConnectionsDoNotExhaustTheServer$$' ./...

# The service's tests run again over PostgreSQL, except the page in the browser, which has no database. PgBouncer is covered by the
# drivers' suite, which also runs behind it; make databases runs everything over every database.
.PHONY: test-postgres
test-postgres:
	PERKS_TEST_DATABASE=postgres go test -vet=off -skip '^TestInABrowser$$' ./server

.PHONY: databases
databases: test-programs ## run the tests of both programs over PostgreSQL, and behind PgBouncer
	PERKS_TEST_DATABASE=postgres go test $(SERVICE) ./cli/...
	PERKS_TEST_DATABASE=pgbouncer go test $(SERVICE) ./cli/...

.PHONY: test-programs
test-programs:
	@.ci/test-programs

.PHONY: screenshots
screenshots: ## make the pictures of the terminal UI in docs/screenshots
	go test -count=1 -run '^TestPictures$$' ./cmd/dev/pictures -update

# A short form of these tests is part of make test, except the one of slow connections.
.PHONY: endurance
endurance: ## kill perksd, and bulk runs of 20,000 rows, again and again; take a million random steps in the terminal UI
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 60m ./cmd/dev/endurance
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 30m -run '^TestRandomSteps$$' ./tui

.PHONY: reference
reference: test-programs ## open the reference page in Chromium and keep pictures of it in bin/artefacts
	PERKS_ARTEFACTS='$(CURDIR)/bin/artefacts' go test -count=1 -v -run '^TestInABrowser$$' ./server

# STORM is for flags, such as STORM='-seed 7' or STORM='-seed 7 -only 1234'.
.PHONY: storm
storm: ## send a million generated requests to a running server, and check every response
	go run ./cmd/dev/storm $(STORM)

# The two that are left out measure memory and time, which the race detector multiplies.
.PHONY: race
race: test-programs ## run the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -skip '^(TestSlowAndIdleConnectionsDoNotExhaustTheServer|TestExpensiveRequestsAreBounded)$$' ./...

# Collecting garbage less often saves a quarter of the time of the compiler, vet and staticcheck, and takes up to 3 GB of memory.
.PHONY: lint
lint: export GOGC := 800
lint: ## check formatting, vet and staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then \
		echo "These files are not formatted; run 'make fmt':"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

.PHONY: fmt
fmt: ## format the code
	gofmt -w $$(git ls-files '*.go')

# Without its bound, making found inputs smaller takes most of a minute's run.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s)
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "== $$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$package || exit 1; \
		done; \
	done

# BENCH is for flags, such as BENCH='-only get -rounds 3' or BENCH='-only queries -perks 10000000'; the first run fills
# databases in .bench/ for all others.
.PHONY: bench
bench: test-programs ## measure the service side by side with what bounds it
	go run ./cmd/dev/bench $(BENCH)

.PHONY: completions
completions: ## rewrite completions/, the scripts that shells load
	@for script in bash:perksctl.bash zsh:_perksctl fish:perksctl.fish powershell:perksctl.ps1; do \
		go run ./cmd/perksctl completion $${script%%:*} >completions/$${script#*:} || exit 1; \
	done

.PHONY: man
man: build ## write the manual pages into bin/man/
	@rm -rf bin/man; bin/perksctl --quiet man --dir bin/man/man1 && bin/perksd man bin/man/man8

# The same commit makes the same bytes, wherever and whenever. ARCHS='amd64 arm64' is for more than this machine's kind.
ARCHS ?= $(shell go env GOARCH)

.PHONY: package
package: packages ## make Debian packages and an archive in bin/package/, and try them out
	@$(MAKE) --no-print-directory package-test

.PHONY: packages
packages: man
	@for arch in $(ARCHS); do \
		GOOS=linux GOARCH=$$arch $(BUILD) -o bin/linux_$$arch/ ./cmd/perksd ./cmd/perksctl || exit 1; \
	done
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) go run ./cmd/dev/pack packages '$(VERSION)' $(ARCHS)
	@cat bin/package/SHA256SUMS

.PHONY: package-test
package-test: ## install the packages of bin/package/ into a folder, and work with what is installed there (as root)
	go vet -tags package ./cmd/dev/pack/packtest
	go test -tags package -count=1 -timeout 5m ./cmd/dev/pack/packtest

# Two clones in two folders, so that neither a path nor a time can be in what is made.
.PHONY: reproducible
reproducible: ## build the packages of the last commit twice, and compare them
	@rm -rf bin/once bin/once-more
	@for folder in bin/once bin/once-more; do \
		git clone -q . $$folder/perks && $(MAKE) -C $$folder/perks --no-print-directory packages VERSION='$(VERSION)' ARCHS='$(ARCHS)' || exit 1; \
	done
	@diff bin/once/perks/bin/package/SHA256SUMS bin/once-more/perks/bin/package/SHA256SUMS
	@rm -rf bin/once bin/once-more

.PHONY: licences
licences: ## list the licences of all that the programs are built with, and refuse those that ask for more than their text
	@go run ./cmd/dev/pack licences

.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities in what the programs call (GOVULNDB names another database)
	@$$(go -C .ci/tools tool -n govulncheck) $${GOVULNDB:+-db "$$GOVULNDB"} ./...

.PHONY: vulnerabilities-test
vulnerabilities-test:
	go vet -tags vulnerabilities ./cmd/dev/pack/vulntest
	go test -tags vulnerabilities -count=1 ./cmd/dev/pack/vulntest

# It looks at what is shipped, and not at what tests and measures that. docs/security.md says why two rules are left out.
.PHONY: gosec
gosec: ## look for unsafe code in the programs
	@$$(go -C .ci/tools tool -n gosec) -quiet -exclude=G104,G304 \
		$$(go list -deps -f '{{with .Module}}{{if .Main}}{{$$.Dir}}{{end}}{{end}}' ./cmd/perksd ./cmd/perksctl)

.PHONY: describe-lint
describe-lint: ## check the API description with Redocly and Spectral (needs Node.js)
	@cd api && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes @redocly/cli@2.77.0 lint openapi.yaml
	@cd api && npx --yes @stoplight/spectral-cli@6.16.3 lint --fail-severity=warn openapi.yaml

.PHONY: shells
shells: test-programs ## press TAB in bash, zsh and fish
	go test -count=1 -run '^TestShells$$' ./cli

.PHONY: keyring
keyring: ## log in through a real keyring (needs dbus and gnome-keyring)
	go vet -tags keyring ./cmd/perksctl/keyring
	go test -tags keyring -count=1 ./cmd/perksctl/keyring

.PHONY: golden
golden: ## rewrite the golden files; read the diff before you commit it
	go test $$(git grep -lE 'flag.Bool\("update"|/tui/tuitest"' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|') -update

.PHONY: clean
clean: ## remove what was built, the demo's files and the bench's databases
	rm -rf bin .demo .bench
