# What a person types. CI runs `.ci/run` alone and needs no just.

# One target directory for every checkout on this machine, as in .ci/run.
export CARGO_TARGET_DIR := env("CARGO_TARGET_DIR", cache_directory() / "porteiro/target")

# List the recipes.
default:
    @just --list

# Everything that must hold, exactly as CI runs it.
ci:
    bash .ci/run

# Format, lints and the house rules.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --locked -- -D warnings
    PORTEIRO_TEST_DATABASE_URL="$(scripts/postgres start --fast)" cargo xtask tidy

# Run the tests; arguments go to `cargo test`.
test *arguments:
    eval "$(scripts/up --fast --with-pgbouncer)" && cargo test --workspace --locked {{ arguments }}

# The long forms of the proofs: a million walks, 10,000 stuffing pairs, times of 2 × 2,000 requests, a longer flood, 500
# rounds of each race.
prove *arguments='people::property people::once people::stuffing people::enumeration people::flood oauth::races oauth::histories':
    eval "$(scripts/up --fast)" && PORTEIRO_TEST_LONG=1 cargo test --release --locked -p porteiro-tests -- \
        --nocapture --test-threads=1 {{ arguments }}

# Stock client libraries, unmodified, against the binary.
interop:
    interop/run

# Thousands of requests made from the OpenAPI document, against the binary; argument: how many.
schemathesis *cases:
    scripts/schemathesis {{ cases }}

# Write the documents that come from the code.
generate:
    PORTEIRO_TEST_DATABASE_URL="$(scripts/postgres start --fast)" cargo xtask generate

# A running server on a database of its own; arguments go to `porteiro serve`.
dev *arguments:
    PORTEIRO_DATABASE_URL="$(scripts/postgres start)" cargo run -p porteiro -- serve --dev {{ arguments }}

# Start the servers that tests need and print how to reach them.
up:
    scripts/up --fast --with-pgbouncer

# Stop them.
down:
    scripts/down

# Start time, idle memory and build time, as in docs/performance.md; arguments: start, memory, build.
measure *arguments:
    scripts/measure {{ arguments }}

# The release binary beside bare pgbench, as in docs/performance.md; arguments: --families, --seconds, --rounds, --only, --short, --age, --against BINARY, --write.
bench *arguments:
    cargo build --release --locked -p porteiro -p porteiro-bench
    "$CARGO_TARGET_DIR/release/porteiro-bench" {{ arguments }}

# A directory provisions 100,000 users by SCIM, beside bare pgbench, as in docs/performance.md; arguments: --users, --groups, --short, --binary FILE, --write.
bench-provisioning *arguments:
    cargo build --release --locked -p porteiro
    bench/provisioning/run {{ arguments }}

# Porteiro beside other authorization servers, as in docs/performance.md; arguments: --short, --only=..., --no-write.
peers *arguments:
    BUILD_COMMIT=$(scripts/commit) cargo build --release --locked -p porteiro -p porteiro-peers-load
    bench/peers/run {{ arguments }}

# psql on the development database; arguments go to psql.
db *arguments:
    scripts/postgres start >/dev/null
    scripts/postgres psql {{ arguments }}
