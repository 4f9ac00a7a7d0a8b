//! Reading an `id_token_hint` (OpenID Connect Core §3.1.2.1, RP-Initiated Logout 1.0 §2; decision record 0087).

use porteiro_protocol::jose::{Algorithm, verify_compact};
use serde_json::Value;

use crate::App;

#[derive(Debug)]
pub enum Hint {
    /// The claims of an ID token that we signed with a key that is still published. Its age does not matter: it names
    /// a person and proves nothing.
    Own(Value),
    /// Signed by a retired key, which may have leaked, so its claims are ignored. Sessions outlive keys, so honest
    /// clients send these too.
    Outdated,
    /// Anything else.
    Foreign,
}

pub fn read_hint(app: &App, token: &str) -> Hint {
    let rings = app.keys.current();
    if let Some(claims) = id_token(app, token, rings.verifying_keys()) {
        return Hint::Own(claims);
    }
    match id_token(app, token, rings.retired_keys()) {
        Some(_) => Hint::Outdated,
        None => Hint::Foreign,
    }
}

fn id_token(app: &App, token: &str, keys: &[Value]) -> Option<Value> {
    let verified = verify_compact(token, keys, Algorithm::ALL).ok()?;
    let typed = verified.header["typ"].as_str().is_none_or(|typ| typ == "JWT");
    // Other tokens of ours have the same type; only an ID token has all of these claims.
    let whole = ["sub", "sid", "at_hash"].iter().all(|name| !verified.payload[*name].is_null());
    (typed && whole && verified.payload["iss"] == app.issuer()).then_some(verified.payload)
}
