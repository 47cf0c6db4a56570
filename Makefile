# Everything a person types in this repository. `make` alone lists it.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
FUZZTIME ?= 60s
SERVICE := ./server ./cmd/perksd
# Both programs tell their commit, even where GOFLAGS keeps it out of other builds.
BUILD := go build -buildvcs=auto -ldflags '-s -w -X example.com/perks/api.version=$(VERSION)'
export CGO_ENABLED ?= 0
# Without paths in what is built, another checkout of the same commit has nothing to compile again.
export GOFLAGS := $(GOFLAGS) -trimpath

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  \1\t/' | expand -t 18

.PHONY: build
build: ## build perksd and perksctl into bin/
	$(BUILD) -o bin/ ./cmd/perksd ./cmd/perksctl ./cmd/perksctl-mcp

.PHONY: demo
demo: build ## start a server with sample data and show the client at work
	@go run ./cmd/dev/demo

# Test programs wait for a third of their time, so one more than there are processors keeps these busy. More of them
# would only make each slower, and some measure times.
AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: test
test test-all test-postgres databases endurance-short race: export TMPDIR = $(shell .ci/temporary-folder)
test: test-programs ## run every check and every test
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory -j 4 test-all test-postgres describe-lint webhook-receivers

# Collecting garbage less often saves the tests a sixth of their processor time, which is what they compete for.
test-all test-postgres: export GOGC ?= 400

# Without symbol tables, linking the test programs takes two thirds of the time.
TEST := go test -vet=off -ldflags='-s -w' -timeout 20m

# The test of slow connections measures memory, so nothing may run beside it: it is part of make endurance. These others
# are long, and part of make endurance-short.
SLOW := TestSlowAndIdleConnectionsDoNotExhaustTheServer
LONG := UnderLoadIsASnapshot|OfPostgresRefusesChanges|ALogOnAFullDisk|ALargeImportOnAFullDisk|AHangingDatabase
LONG := $(LONG)|ServerWithoutItsDatabase|ServersLeaveADemoted|TestWithoutTheStandby|ReadsItsOwnWritesFromStandbys
LONG := $(LONG)|LoadOverPostgreSQL|RotationUnderLoad|ThatAreNeverRead|ThousandsOfListeners|AWalkHasEachPerk
LONG := $(LONG)|StreamsKeepNobodyOut|StreamsLeaveHalf|ThatDoNothingKeepNobodyOut|WebhooksCostRedeeming
LONG := $(LONG)|AcknowledgedIntoALostFile|DamageToAFile

# go test need not vet again what lint has vetted. The drivers' suite runs behind PgBouncer in make databases.
.PHONY: test-all
test-all:
	$(TEST) -p $(AT_ONCE) -skip '^$(SLOW)$$|$(LONG)|^TestPostgres$$/^pgbouncer$$' ./...

# The service's tests run again over PostgreSQL, except those that reach no database: the page in the browser, and
# every route with every kind of caller. make databases runs everything over every database.
.PHONY: test-postgres
test-postgres:
	PERKS_TEST_DATABASE=postgres $(TEST) -skip '^(TestInABrowser|TestAccess)$$' ./server

.PHONY: databases
databases: test-programs ## run the drivers' tests with all combinations, both programs' over PostgreSQL and behind PgBouncer, a minute of make ha, and make describe-generators
	PERKS_ENDURANCE=long go test -timeout 30m ./store/...
	PERKS_TEST_DATABASE=postgres go test $(SERVICE) ./cli/...
	PERKS_TEST_DATABASE=pgbouncer go test $(SERVICE) ./cli/...
	$(MAKE) --no-print-directory ha HA='-ha.for 60s'
	$(MAKE) --no-print-directory describe-generators

# The nodes' networks are namespaces of this one, and end with the first process in it.
HA ?= -ha.for 10m -ha.seed 1
HA_TESTS ?= AClusterLosesNothingWhileNodesFail|StandbysOfAClusterAreRead
.PHONY: ha
ha: test-programs ## kill, freeze and cut off nodes of a PostgreSQL cluster with Patroni for ten minutes (needs root)
	go vet -tags ha ./cmd/dev/endurance
	go test -tags ha -c -o bin/ha.test ./cmd/dev/endurance
	cd cmd/dev/endurance && unshare --net --mount --pid --fork --kill-child --mount-proc \
		sh -c 'mount -t tmpfs none /run && ip link set lo up && ../../../bin/ha.test -test.run "^Test($(HA_TESTS))$$" -test.v -test.timeout 60m $(HA); exit $$?'

# The drivers' suite also runs behind PgBouncer. The first run downloads the versions that Debian has not installed.
POSTGRES_VERSIONS ?= 14 15 16 17 18
.PHONY: postgres-versions
postgres-versions: export TMPDIR = $(shell .ci/temporary-folder)
postgres-versions: test-programs ## run the driver's and the service's tests on each PostgreSQL, from 14 to 18
	@for version in $(POSTGRES_VERSIONS); do \
		PERKS_TEST_POSTGRES_BIN=$$(.ci/postgresql $$version) || exit 1; export PERKS_TEST_POSTGRES_BIN; \
		$$PERKS_TEST_POSTGRES_BIN/postgres --version; \
		go test -vet=off ./store/postgres ./store/storetest && \
			PERKS_TEST_DATABASE=postgres go test -vet=off -skip '^TestInABrowser$$' ./server || exit 1; \
	done

.PHONY: test-programs
test-programs:
	@.ci/test-programs

.PHONY: screenshots
screenshots: ## draw the pictures of the terminal UI in docs/screenshots again, and all others in bin/screenshots
	@rm -rf bin/screenshots
	PERKS_ARTEFACTS='$(CURDIR)/bin/screenshots' go test -count=1 -run '^TestPictures$$' ./cmd/dev/pictures -update

# It needs Node.js and a registry of its packages, as describe-lint does.
INSPECTOR ?= npx --yes --prefer-offline @modelcontextprotocol/inspector@2.12.0
.PHONY: inspector
inspector: build ## have the protocol's inspector list and call the tools of perksctl mcp
	@INSPECTOR='$(INSPECTOR)' .ci/inspector

.PHONY: endurance-short
endurance-short: test-programs ## the same in five minutes, without the cluster; make test has the half of it that redeems while something is killed
	$(TEST) -skip '^$(SLOW)$$' ./cmd/dev/endurance

# The cluster needs root: it has the gravest faults of make ha, and four planted ones that it has to find.
.PHONY: endurance
endurance: ## kill perksd, and bulk runs of 20,000 rows, again and again; take a million random steps in the terminal UI
	@if [ "$$(id -u)" = 0 ]; then $(MAKE) --no-print-directory ha HA=-ha.short \
		HA_TESTS='AClusterLosesNothingWhileNodesFail|PlantedFaultsOfAClusterAreFound'; \
		else echo 'Not run, because it needs root: the cluster of make ha'; fi
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 60m ./cmd/dev/endurance
	$(MAKE) --no-print-directory random-steps
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 30m -run '^TestNothingChangesWithoutConfirm$$' ./cli/assistant

# FIRST is the first of twenty seeds, each of a walk of 50,000 steps.
FIRST ?= 0
.PHONY: random-steps
random-steps: ## take a million random steps in the terminal UI, with bounded memory
	PERKS_ENDURANCE=long PERKS_FUZZ_FIRST='$(FIRST)' go test -count=1 -v -timeout 120m -run '^TestRandomSteps$$' ./tui

.PHONY: terminal
terminal: export TMPDIR = $(shell .ci/temporary-folder)
terminal: test-programs ## use the terminal UI with a million perks and 100,000 redemptions, and all of a desk's day over bad networks
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 60m -run '^TestManyRecords$$' ./tui/tuitest
	PERKS_ENDURANCE=long go test -count=1 -v -timeout 60m -run '^TestNetworkFlows$$' ./tui/tuitest

.PHONY: reference
reference: test-programs ## open the reference page in Chromium and keep pictures of it in bin/artefacts
	PERKS_ARTEFACTS='$(CURDIR)/bin/artefacts' go test -count=1 -v -run '^TestInABrowser$$' ./server

# STORM and MIXTURES are for flags, such as STORM='-seed 8' or MIXTURES='-seed 7 -only 1234'.
.PHONY: storm
storm: ## send a million generated requests to a running server, and run the client at 20,000 servers that differ and fail
	go test -count=1 -v -timeout 3h -run '^TestAStormFindsNothing$$' ./cmd/dev/storm -requests 1000000 $(STORM)
	go test -count=1 -v -timeout 3h -run AtRandomMixtures ./cmd/dev/mixtures -mixtures 20000 $(MIXTURES)

# The six that are left out measure memory and time, which the race detector multiplies.
.PHONY: race
race: test-programs ## run the tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -timeout 60m \
		-skip '^(TestSlowAndIdleConnectionsDoNotExhaustTheServer|TestExpensiveRequestsAreBounded|TestADecompressionBombIsNotRead|TestAKeyIsSeenWithinAFrame|TestManyRecords|TestAClientReadsItsOwnWritesFromStandbys)$$' ./...

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

# BENCH is for flags, such as BENCH='-only get -rounds 3'; the first run fills
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
man: ## write the manual pages into bin/man/
	@$(BUILD) -tags manual -o bin/manual/ ./cmd/perksd ./cmd/perksctl
	@rm -rf bin/man; bin/manual/perksctl bin/man/man1 && bin/manual/perksd bin/man/man8

# The same commit makes the same bytes, wherever and whenever. PLATFORMS=linux/amd64 is for one of them.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: release
release: build man ## make packages, archives, an image, lists of what is in them and sums, for all platforms, in bin/release/
	@for platform in $(PLATFORMS); do \
		programs='./cmd/perksctl ./cmd/perksctl-mcp'; case $$platform in linux/*) programs="./cmd/perksd $$programs" ;; esac; \
		folder=bin/$$(echo $$platform | tr / _); rm -rf $$folder; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(BUILD) -o $$folder/ $$programs || exit 1; \
	done
	@$(BUILD) -o bin/pack ./cmd/dev/pack
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) bin/pack release '$(VERSION)' $(PLATFORMS)
	@cat bin/release/SHA256SUMS

.PHONY: package
package: ## the same for this machine alone, and try it out
	@$(MAKE) --no-print-directory release PLATFORMS=linux/$$(go env GOARCH)
	@$(MAKE) --no-print-directory release-test

# go test keeps the results of .ci/tools, whatever happens to files outside that module.
.PHONY: release-test
release-test: ## install what is in bin/release/ into folders, redeem there, and check deploy/ (as root)
	@.ci/test-programs packages
	go vet -tags package ./cmd/dev/pack/packtest
	go test -tags package -count=1 -timeout 5m ./cmd/dev/pack/packtest
	cd .ci/tools && go vet ./... && go test -count=1 ./...

# Two clones in two folders, so that neither a path nor a time can be in what is made.
.PHONY: reproducible
reproducible: ## make the release of the last commit twice, and compare
	@rm -rf bin/once bin/once-more
	@for folder in bin/once bin/once-more; do git clone -q . $$folder/perks || exit 1; done
	@for folder in bin/once bin/once-more; do \
		$(MAKE) -C $$folder/perks --no-print-directory release VERSION='$(VERSION)' PLATFORMS='$(PLATFORMS)' || exit 1; \
	done
	@diff bin/once/perks/bin/release/SHA256SUMS bin/once-more/perks/bin/release/SHA256SUMS
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
		$$(go list -deps -f '{{with .Module}}{{if .Main}}{{$$.Dir}}{{end}}{{end}}' ./cmd/perksd ./cmd/perksctl ./cmd/perksctl-mcp)

# npx keeps what it downloads, and asks the registry only for what it does not have.
.PHONY: describe-lint
describe-lint: export REDOCLY_TELEMETRY := off
describe-lint: export REDOCLY_SUPPRESS_UPDATE_NOTICE := true
describe-lint: ## check the API description with Redocly and Spectral, if Node.js and a registry of its packages are there
	@npx() { command npx --yes --prefer-offline "$$@"; }; redocly=@redocly/cli@2.77.0 spectral=@stoplight/spectral-cli@6.16.3; \
		if ! npx $$redocly --version >/dev/null 2>&1 || ! npx $$spectral --version >/dev/null 2>&1; then \
			echo 'Not run, because it needs Node.js, and a registry of its packages: make describe-lint'; exit 0; fi; \
		cd api && npx $$redocly lint openapi.yaml && npx $$spectral lint --fail-severity=warn openapi.yaml

.PHONY: describe-generators
describe-generators: ## generate Go clients from the API description with ogen and oapi-codegen, and test them
	@cd .ci/generators && mkdir -p oapiclient && \
		go tool ogen --loglevel error --package ogenclient --target ogenclient --clean ../../api/openapi.yaml && \
		go tool oapi-codegen -generate types,client -package oapiclient -o oapiclient/client.go ../../api/openapi.yaml
	cd .ci/generators && go test -vet=off ./...

.PHONY: webhook-receivers
webhook-receivers: test-programs ## run every receiver of docs/webhooks.md, if Node.js and a registry of its packages are there
	@modules=$$(mktemp -d) && trap 'rm -rf "$$modules"' EXIT; \
		if ! npm install --silent --no-fund --no-audit --prefix "$$modules" standardwebhooks@1.1.1 >/dev/null 2>&1; then \
			echo 'Not run, because it needs Node.js, and a registry of its packages: make webhook-receivers'; exit 0; fi; \
		PERKS_NODE_MODULES=$$modules go test -count=1 -run '^Test(Receivers|TheShell)' ./cli/webhook

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
	rm -rf bin .demo .bench .ci/generators/*client
