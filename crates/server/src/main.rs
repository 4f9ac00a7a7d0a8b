//! `porteiro`: reads the settings, refuses to start when it must, wires the parts together.

mod ambient;
mod boot;
mod cli;
mod commands;
mod config;
mod exit;
mod listener;
mod say;
mod telemetry;
mod tls;

use std::{pin::Pin, process::ExitCode};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let invocation = cli::parse();
    // One provider for every TLS user in the process.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::Failure::new(format!("cannot start: {error}")).report(),
    };
    // Boxed: otherwise the runtime would have a copy of every command's future in each of its poll functions.
    let command: Pin<Box<dyn Future<Output = _>>> = Box::pin(commands::run(invocation));
    match runtime.block_on(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
