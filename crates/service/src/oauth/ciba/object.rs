//! Signed requests (CIBA Core §7.1.1): a JWT of the client, for this issuer, for minutes, used once.

use porteiro_protocol::{
    jose::{Algorithm, VerifiedJws},
    time::OffsetDateTime,
};
use serde_json::{Map, Value};

use super::{
    super::{
        client_auth,
        clients::{self, Client, Profile, Unverified, profile::FAPI2_ALGORITHMS},
    },
    decide::invalid,
};
use crate::{App, http::OAuthError, secrets::sha256};

/// Accepted clock difference, in seconds.
const AHEAD: i64 = 10;
/// FAPI-CIBA §5.2.2: at most an hour from `nbf` to `exp`, and `nbf` at most an hour ago.
const LONGEST: i64 = 3_600;

/// Whether the client signs all its requests: it registered an algorithm, or follows FAPI.
pub fn is_required(client: &Client) -> bool {
    match client.profile {
        Profile::Default => client.metadata.backchannel_authentication_request_signing_alg.is_some(),
        Profile::Fapi2 => true,
    }
}

/// The parameters of the signed request, if the client signed it for this issuer and it is valid now.
///
/// # Errors
/// `invalid_request`, or `temporarily_unavailable` while the keys cannot be fetched.
pub async fn open(app: &App, client: &Client, object: &str) -> Result<Map<String, Value>, OAuthError> {
    let mut allowed: Vec<Algorithm> = match client.profile {
        Profile::Default => Algorithm::ALL.to_vec(),
        Profile::Fapi2 => FAPI2_ALGORITHMS.to_vec(),
    };
    if let Some(registered) = client.metadata.backchannel_authentication_request_signing_alg {
        allowed.retain(|algorithm| *algorithm == registered);
    }
    match clients::verify_signed(app, client, object, &allowed).await {
        Ok(verified) => {
            let claims = judge(&client.id, &verified, app.issuer(), app.clock.now().unix_timestamp())?;
            spend(app, client, &verified.payload).await?;
            Ok(claims)
        }
        Err(Unverified::Wrong(_)) => Err(invalid("request is not signed with a key of this client")),
        Err(Unverified::Unavailable) => Err(OAuthError::new(
            porteiro_protocol::error::ErrorCode::TemporarilyUnavailable,
            clients::UNAVAILABLE,
        )),
    }
}

/// A request is good once, on all nodes. It is remembered like a client assertion, and is none: the same `jti` may be in
/// both.
async fn spend(app: &App, client: &Client, claims: &Value) -> Result<(), OAuthError> {
    let jti = claims["jti"].as_str().unwrap_or_default();
    let expires = claims["exp"].as_i64().and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
    let expires = expires.ok_or_else(|| invalid("exp of the request must be a number of seconds"))?;
    let hash = sha256(format!("signed request {jti}").as_bytes());
    if client_auth::use_once(&app.store, &client.id, &hash, expires).await? {
        return Ok(());
    }
    Err(invalid("the request was used before; sign a new one"))
}

fn judge(
    client_id: &str,
    verified: &VerifiedJws,
    issuer: &str,
    now: i64,
) -> Result<Map<String, Value>, OAuthError> {
    // RFC 8725 §3.11: an assertion or a proof of the same client is not a request.
    match verified.header["typ"].as_str() {
        None => {}
        Some(typ) if typ.eq_ignore_ascii_case("jwt") || typ.eq_ignore_ascii_case("oauth-authz-req+jwt") => {}
        Some(_) => return Err(invalid("the typ header of the request is not accepted")),
    }
    let claims = &verified.payload;
    if claims["iss"].as_str() != Some(client_id) {
        return Err(invalid("iss of the request is not the client_id"));
    }
    let named = match &claims["aud"] {
        Value::String(one) => one == issuer,
        Value::Array(many) => many.iter().any(|one| one == issuer),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if !named {
        return Err(invalid("aud of the request is not this issuer"));
    }
    if claims["jti"].as_str().is_none_or(str::is_empty) {
        return Err(invalid("jti of the request is missing"));
    }
    times(claims, now)?;
    claims.as_object().cloned().ok_or_else(|| invalid("the request is not a JSON object"))
}

/// CIBA Core §7.1.1 requires all three.
fn times(claims: &Value, now: i64) -> Result<(), OAuthError> {
    let number = |name: &str| {
        let missing = || invalid(&format!("{name} of the request must be a number of seconds"));
        claims[name].as_i64().ok_or_else(missing)
    };
    let (expires, begins, issued) = (number("exp")?, number("nbf")?, number("iat")?);
    if expires <= now {
        return Err(invalid("the request has expired"));
    }
    if begins > now + AHEAD || issued > now + AHEAD {
        return Err(invalid("the request is not yet valid"));
    }
    if expires.saturating_sub(begins) > LONGEST || now.saturating_sub(begins) > LONGEST {
        return Err(invalid(
            "exp of the request must be at most an hour after nbf, and nbf at most an hour ago",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(change: &Value) -> bool {
        let now = 1_800_000_000;
        let mut payload = json!({"iss": "agent", "aud": "https://op.example", "exp": now + 60, "nbf": now,
            "iat": now, "jti": "1", "scope": "openid"});
        for (name, value) in change.as_object().unwrap() {
            payload[name] = value.clone();
        }
        let verified = VerifiedJws { header: json!({"typ": "JWT"}), payload, algorithm: Algorithm::Es256 };
        judge("agent", &verified, "https://op.example", now).is_ok()
    }

    #[test]
    fn every_claim_of_a_signed_request_is_required_and_checked() {
        let now = 1_800_000_000;
        assert!(judged(&json!({})) && judged(&json!({"aud": ["x", "https://op.example"]})));
        for name in ["iss", "aud", "exp", "nbf", "iat", "jti"] {
            assert!(!judged(&json!({name: null})), "{name}");
        }
        for wrong in [
            json!({"iss": "other"}),
            json!({"aud": "https://other.example"}),
            json!({"exp": now}),
            json!({"exp": now + 70 * 60}),
            json!({"nbf": now + 600}),
            json!({"nbf": now - 70 * 60}),
            json!({"nbf": i64::MIN}),
            json!({"nbf": i64::MIN, "exp": i64::MAX}),
            json!({"iat": now + 600}),
        ] {
            assert!(!judged(&wrong), "{wrong}");
        }
    }
}
