//! Challenges that a flow sent or showed and that are not answered yet.

mod store;

use porteiro_protocol::{id::ChallengeId, time::OffsetDateTime};
use serde_json::Value;

pub(super) use store::attempt;
pub use store::{consume_challenge, drop_challenges, find_challenges, replace_challenge};

use crate::store::text_enum;

text_enum! {
    Purpose { Prove = "prove", Enrol = "enrol" }
}

#[derive(Clone)]
pub struct Challenge {
    pub id: ChallengeId,
    pub module: &'static str,
    pub purpose: Purpose,
    pub body: Value,
    pub created_at: OffsetDateTime,
}

impl std::fmt::Debug for Challenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<{} challenge {}>", self.module, self.id)
    }
}

pub struct NewChallenge {
    pub id: ChallengeId,
    pub module: &'static str,
    pub purpose: Purpose,
    pub body: Value,
    pub max_attempts: i32,
    pub lifetime_seconds: f64,
}

impl std::fmt::Debug for NewChallenge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<new {} challenge>", self.module)
    }
}
