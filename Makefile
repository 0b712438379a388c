# Two commands matter to a newcomer: `make run` and `make test`. The rest is for those who stay.

STATE ?= var
NFS ?=
SEED ?=
RUNS ?= 200

.PHONY: run test e2e check bench simulate mutants turns zts deb setup tools fmt clean

run: ## Build, make a pool on image files on the first start, and serve it in the foreground.
	@scripts/setup build
	@scripts/console
	cargo build --release -p cistern
	target/release/cistern serve --state $(STATE) --first-start $(if $(NFS),--nfs $(NFS))

test: ## Everything that proves it, real tools included; installs what it needs.
	@scripts/setup test
	scripts/test

e2e: ## Of that, only the program itself with real clients.
	@scripts/setup test
	scripts/e2e

check: ## The quick loop: format, lints and the tests that need no other program.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --workspace --exclude cistern

bench: ## Beside peers on this machine: PART=nfs,sync,… ONLY=text ROUNDS=n choose, BEFORE=program compares builds, DOCS=1 rewrites docs/performance.md.
	@scripts/setup bench
	scripts/bench $(if $(PART),--part $(PART)) $(if $(ONLY),--only '$(ONLY)') $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(BEFORE),--before '$(BEFORE)') $(if $(DOCS),--docs)

simulate: ## Crashes, faults, disks that come and go: SEED=n reproduces one run, RUNS=n tries that many fresh seeds (a night: 5000).
	cargo run --profile ci -p sim -- $(if $(SEED),--seed $(SEED),--runs $(RUNS))

mutants: ## Does the simulator find what is wrong? Faults are planted in a copy of the engine: ONLY=names; some minutes.
	cargo run -p xtask -- mutants $(ONLY)

turns: ## OpenZFS's ztest and we take turns on pools of each layout, zdb between: some minutes.
	@scripts/setup test
	TURNS=all cargo test --profile ci -p engine --test it -- alternate

zts: ## The ZFS Test Suite against the release binary: GROUPS='^rsend$$ zpool_scrub' chooses; all of it: 80 minutes on two processors.
	@scripts/setup test
	cargo build --release -p cistern
	scripts/zts/run $(GROUPS)

deb: ## A Debian package of the release build: target/debian/cistern_VERSION_ARCH.deb.
	@scripts/setup deb
	@scripts/console
	cargo build --release -p cistern
	scripts/deb target/release/cistern

clean:
	cargo clean
