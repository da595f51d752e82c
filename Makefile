# What people and CI do with this repository. `make` lists it.

# Under CI every run is a new clone; the built dependencies are kept outside of it.
ifdef CI
export CARGO_TARGET_DIR ?= $(HOME)/.cache/narrows/ci-target
endif

CARGO_FLAGS := --locked --workspace

.DEFAULT_GOAL := help
.PHONY: help check lint format unit it guest bench soak test tools build package test-packages

help: ## Lists the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

check: ## Checks that everything compiles, tests included
	cargo check $(CARGO_FLAGS) --all-targets

lint: format ## Format, clippy, boundaries between crates, modules, licences, documents
	cargo clippy $(CARGO_FLAGS) --all-targets -- --deny warnings
	cargo clippy --locked --manifest-path guest/Cargo.toml --all-targets -- --deny warnings
	scripts/check-boundaries
	scripts/check-modules
	scripts/check-licences
	scripts/check-docs

format:
	cargo fmt --all --check
	cargo fmt --all --manifest-path guest/Cargo.toml --check

unit: ## Unit tests of one crate: make unit CRATE=engine
	cargo test --locked $(if $(filter gateway,$(CRATE)),--package narrows --bins,--package narrows-$(CRATE) --lib)

it: ## End-to-end tests whose name contains a text: make it TEST=demo
	cargo test --release --locked --package narrows --test it -- $(TEST)

guest: ## The guest: its Python's tests, then the artifact
	python3 -m unittest discover -q -s guest/tests
	cargo build --locked --package narrows-sandbox

bench: ## Benchmarks that need no data: make bench; see README for the others
	cargo build --release --locked
	for part in sandbox calls gateway analysis; do $${CARGO_TARGET_DIR:-target}/release/narrows bench $$part; done

# What takes too long for CI: tests at full size, one after another because they measure, and a load
# during which nothing may grow. The load fails by itself if memory, descriptors or threads do.
MINUTES ?= 30
FULL_SIZE := ulimit -Sn 8192; NARROWS_FULL_SIZE=1 cargo test --locked --release
soak: ## Full-size tests and half an hour of load, on an idle machine: make soak MINUTES=5
	$(FULL_SIZE) --package narrows --test it -- --test-threads=1 floods:: killed_gateways:: memory_bounds::
	$(FULL_SIZE) --package narrows-upstream --lib -- answers_of_full_size
	$(FULL_SIZE) --package narrows-analysis --test limits -- groups_and_sorts
	cargo build --release --locked
	$${CARGO_TARGET_DIR:-target}/release/narrows bench load --minutes $(MINUTES)

# All that CI does. Installing waits for the network and compiling for the processor, so they go beside
# each other.
test: ## Installs what the tests need, checks, builds, runs all tests
	$(MAKE) --jobs=2 tools build
	scripts/run-tests

# What the tests need beside Rust and a C compiler.
tools:
	scripts/install-test-tools

# All that is tested. Cargo is to use all cores, though it is one of two jobs.
build:
	env -u MAKEFLAGS cargo test $(CARGO_FLAGS) --release --no-run

package: ## Writes dist/: wheel, npm, deb, tar, SBOM, checksums
	cargo build --release --locked
	scripts/package

test-packages: ## Installs each package of dist/ into an empty place and uses it
	scripts/test-packages
