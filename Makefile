# `make test` is all that CI does: it installs what the tests need, checks and tests.

# Under CI every run is a new clone; the built dependencies are kept outside of it.
ifdef CI
export CARGO_TARGET_DIR ?= $(HOME)/.cache/narrows/ci-target
endif

# One profile for everything, see Cargo.toml.
CARGO_FLAGS := --release --locked --workspace

# Clippy looks at our crates when they are compiled.
export RUSTC_WORKSPACE_WRAPPER := $(CURDIR)/scripts/clippy-and-rustc

.PHONY: test tools format build boundaries guest units

# Installing waits for the network and compiling for the processor, so they go beside each other.
test: format
	$(MAKE) --jobs=2 tools build
	$(MAKE) boundaries guest units

# What the tests need beside Rust and a C compiler.
tools:
	scripts/install-test-tools

format:
	cargo fmt --all --check

# All that is tested. Cargo is to use all cores, though it is one of two jobs.
build:
	env -u MAKEFLAGS cargo test $(CARGO_FLAGS) --no-run

# What crates must not know, checked where it is cheap; see ARCHITECTURE.md.
boundaries:
	scripts/check-boundaries

# The guest's Python, as far as it can be tested without the sandbox.
guest:
	python3 -m unittest discover -q -s crates/sandbox/guest/tests

units:
	cargo test $(CARGO_FLAGS)
