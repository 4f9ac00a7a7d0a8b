//! What to ask, and what is told afterwards.

use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub address: std::net::SocketAddr,
    pub concurrency: usize,
    /// How long requests are begun; the last ones are waited for.
    pub seconds: f64,
    /// Request line and header lines; `content-length` is added.
    pub head: String,
    /// Stands before each value, which together are the body.
    #[serde(default)]
    pub prefix: String,
    pub values: Vec<String>,
    pub order: Order,
    /// What an answer must contain to be a success, beside its status of 200.
    pub expect: String,
    /// The members of the answers that are handed back, or go around.
    #[serde(default)]
    pub keep: Vec<String>,
}

/// How the values are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Again and again, in turn.
    Cycle,
    /// Each one once; the run is over when none is left.
    Once,
    /// The first of `keep` in the answer takes the value's place. Nobody else has it meanwhile.
    Rotate,
}

#[derive(Debug, Default, Serialize)]
pub struct Measured {
    pub operations: usize,
    pub seconds: f64,
    pub per_second: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
    /// Answers in each whole second.
    pub by_second: Vec<usize>,
    pub errors: usize,
    pub first_error: Option<String>,
    /// Connections that the server closed between two requests.
    pub reconnects: usize,
    pub kept: Vec<Vec<String>>,
    /// What is good to present next, where values went around.
    pub values: Vec<String>,
}
