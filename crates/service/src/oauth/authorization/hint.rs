//! What an `id_token_hint` is worth (OpenID Connect Core §3.1.2.1, RP-Initiated Logout 1.0 §2; decision record 0087).

use porteiro_protocol::jose::{Algorithm, verify_compact};
use serde_json::Value;

use crate::App;

#[derive(Debug)]
pub enum Hint {
    /// The claims of an ID token we signed and whose key is still published. Its age does not matter: it names, it does
    /// not prove.
    Own(Value),
    /// Signed by a key that is retired, perhaps because it leaked: nothing it says counts. Sessions outlive keys, so
    /// that honest clients send these.
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
    // Other things of ours have the same type; only an ID token says who, in which session, since when.
    let whole = ["sub", "sid", "auth_time"].iter().all(|name| !verified.payload[*name].is_null());
    (typed && whole && verified.payload["iss"] == app.issuer()).then_some(verified.payload)
}
