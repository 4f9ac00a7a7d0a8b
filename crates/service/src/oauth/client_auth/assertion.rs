//! `private_key_jwt` (RFC 7523 §3, OpenID Connect Core §9): signed by the client, for this issuer, used once.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{jose::Algorithm, time::OffsetDateTime};
use serde_json::Value;

use super::{
    super::{
        clients::{self, Client, Profile, Unverified, profile},
        grant_types::CIBA,
    },
    keys_unavailable, store,
};
use crate::{App, http::OAuthError, secrets::sha256};

pub(super) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The `typ` of client assertions in later drafts of RFC 7523.
const TYPED: &str = "client-authentication+jwt";
/// Accepted clock difference (FAPI 2.0 §5.3.2.1).
const AHEAD_SECONDS: i64 = 10;
/// The longest lifetime: an assertion is made for one request.
const LONGEST_SECONDS: i64 = 600;

/// The client that the assertion names, before verification: only for finding its keys.
pub(super) fn claimed_client(assertion: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(assertion.split('.').nth(1)?).ok()?;
    let claims = porteiro_protocol::json::parse_strict(&payload, 8).ok()?;
    claims["sub"].as_str().map(str::to_owned)
}

pub(super) async fn verify(app: &Arc<App>, client: &Client, assertion: &str) -> Result<bool, OAuthError> {
    let mut allowed: Vec<Algorithm> = match client.profile {
        Profile::Default => Algorithm::ALL.to_vec(),
        Profile::Fapi2 => profile::FAPI2_ALGORITHMS.to_vec(),
    };
    if let Some(registered) = client.metadata.token_endpoint_auth_signing_alg {
        allowed.retain(|algorithm| *algorithm == registered);
    }
    let verified = match clients::verify_signed(app, client, assertion, &allowed).await {
        Ok(verified) => verified,
        Err(Unverified::Wrong(_)) => return Ok(false),
        Err(Unverified::Unavailable) => return Err(keys_unavailable()),
    };
    // A request object or DPoP proof of the same client is not an assertion (RFC 8725 §3.11).
    match verified.header["typ"].as_str() {
        None => {}
        Some(typ) if typ.eq_ignore_ascii_case("jwt") || typ.eq_ignore_ascii_case(TYPED) => {}
        Some(_) => return Ok(false),
    }
    let now = app.clock.now();
    let Some((jti, expires_at)) = accept(&verified.payload, client, app, now) else {
        return Ok(false);
    };
    Ok(store::use_once(&app.store, &client.id, &sha256(jti.as_bytes()), expires_at).await?)
}

/// Checks the claims; returns the id and expiry of an acceptable assertion.
fn accept(
    claims: &Value,
    client: &Client,
    app: &App,
    now: OffsetDateTime,
) -> Option<(String, OffsetDateTime)> {
    let text = |name: &str| claims[name].as_str();
    if text("iss") != Some(client.id.as_str()) || text("sub") != Some(client.id.as_str()) {
        return None;
    }
    // One string, equal to ours (docs/decisions/0017): an array could also name another server.
    let audience = text("aud")?;
    let issuer = app.issuer();
    let token_endpoint = format!("{issuer}/connect/token");
    // FAPI-CIBA precedes the rule of FAPI 2.0: its clients may name the endpoint (docs/decisions/0094).
    let names_endpoint = client.may_use_grant(CIBA) && is_endpoint(app, audience);
    match client.profile {
        Profile::Fapi2 | Profile::Default if names_endpoint => {}
        Profile::Fapi2 if audience == issuer => {}
        Profile::Default if audience == issuer || audience == token_endpoint => {}
        Profile::Fapi2 | Profile::Default => return None,
    }
    let seconds = now.unix_timestamp();
    let expires = claims["exp"].as_i64()?;
    if expires <= seconds || expires > seconds + LONGEST_SECONDS {
        return None;
    }
    for name in ["iat", "nbf"] {
        match &claims[name] {
            Value::Null => {}
            value if value.as_i64()? > seconds + AHEAD_SECONDS => return None,
            _ => {}
        }
    }
    let jti = text("jti").filter(|jti| !jti.is_empty())?;
    Some((jti.to_owned(), OffsetDateTime::from_unix_timestamp(expires).ok()?))
}

/// The addresses that CIBA Core §7.1 has an OP accept beside its issuer, also under the name for mutual TLS (RFC 8705 §5).
fn is_endpoint(app: &App, audience: &str) -> bool {
    let mtls = app.checked.settings.mtls_base_url.as_deref().map(|base| base.trim_end_matches('/'));
    let bases = [Some(app.issuer()), mtls].into_iter().flatten();
    let mut paths = bases.filter_map(|base| audience.strip_prefix(base));
    paths.any(|path| matches!(path, "/connect/token" | "/connect/ciba"))
}
