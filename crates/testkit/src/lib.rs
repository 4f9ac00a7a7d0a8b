//! For tests: the whole router on a database of its own, a fixed clock, repeatable entropy, and a proxy that cuts
//! connections to PostgreSQL.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a test that cannot be set up should stop at once and say where"
)]

mod ambient;
mod app;
mod authenticator;
mod browser;
mod certificate;
mod database;
mod digest;
mod fault_proxy;
mod jwks;
mod masks;
mod node;
mod recycled;
mod transcript;

pub use ambient::{SeededEntropy, TestClock};
pub use app::{Answer, TestApp, TestAppBuilder};
pub use authenticator::{Algorithm, VirtualAuthenticator};
pub use browser::{Browser, Flow, ORIGIN, nothing, wrong_code};
pub use certificate::self_signed_pem;
pub use database::{Database, server_url, variable};
pub use digest::sha1;
pub use fault_proxy::{FaultProxy, Faults};
pub use jwks::verify;
pub use node::{Node, Raw, command, get, run};
pub use transcript::Transcript;
