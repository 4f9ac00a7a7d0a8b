//! Request objects (RFC 9101): authorization requests that the client signed.

use porteiro_protocol::{
    authorization_request::{RawRequest, Refused, Source},
    error::ErrorCode,
    jose::{Algorithm, VerifiedJws},
};
use serde_json::Value;

use super::{
    super::{
        clients::{self, Client, Profile, Unverified, profile::FAPI2_ALGORITHMS},
        verifying,
    },
    decide::refuse,
};
use crate::{App, http::RequestContext, limits::Limited, store::StoreError};

/// Accepted clock difference, in seconds.
const AHEAD: i64 = 10;
/// FAPI 2.0 Message Signing §5.3.1: at most an hour from `nbf` to `exp`, and `nbf` at most an hour ago.
const LONGEST: i64 = 3_600;

/// Takes one verification from the limit of the network, if the request has a request object.
pub async fn limited(
    app: &App,
    context: &RequestContext,
    raw: &RawRequest,
) -> Result<Option<Limited>, StoreError> {
    let (Ok(Source::Object(_)), Ok(addressee)) = (raw.source(), raw.addressee()) else { return Ok(None) };
    match app.directory.client(&app.store, addressee.client_id).await? {
        Some(client) => verifying::take(app, context, &client.id).await,
        // Without a client there are no keys, so nothing is verified.
        None => Ok(None),
    }
}

/// The request in the object, if the client signed it for this issuer and it is valid now.
///
/// # Errors
/// `invalid_request_object`, or `temporarily_unavailable` while the keys cannot be fetched; the client may receive
/// them.
pub async fn open(
    app: &App,
    client: &Client,
    object: &str,
    outer: &RawRequest,
) -> Result<RawRequest, Refused> {
    let allowed: &[Algorithm] = match client.profile {
        Profile::Default => Algorithm::ALL,
        Profile::Fapi2 => FAPI2_ALGORITHMS,
    };
    let registered = client.metadata.request_object_signing_alg;
    let only = registered.map(|algorithm| [algorithm]);
    let allowed = only.as_ref().map_or(allowed, |one| one.as_slice());
    let verified = match clients::verify_signed(app, client, object, allowed).await {
        Ok(verified) => verified,
        Err(Unverified::Wrong(_)) => {
            let text = "the request object is not signed with a key of this client";
            return Err(refuse(ErrorCode::InvalidRequestObject, text));
        }
        Err(Unverified::Unavailable) => {
            return Err(refuse(ErrorCode::TemporarilyUnavailable, clients::UNAVAILABLE));
        }
    };
    let now = app.clock.now().unix_timestamp();
    judge(client, &verified, outer, app.issuer(), now)
}

/// Not where everything must be signed: FAPI 2.0, and clients that registered it (RFC 9101 §10.5).
pub fn may_be_completed(client: &Client) -> bool {
    match client.profile {
        Profile::Default => client.metadata.require_signed_request_object != Some(true),
        Profile::Fapi2 => false,
    }
}

fn judge(
    client: &Client,
    verified: &VerifiedJws,
    outer: &RawRequest,
    issuer: &str,
    now: i64,
) -> Result<RawRequest, Refused> {
    let refused = |text: &str| refuse(ErrorCode::InvalidRequestObject, text);
    // RFC 9101 §10.8: typed as a request object, or at least not as another kind of token.
    match verified.header["typ"].as_str() {
        None => {}
        Some(typ) if typ.eq_ignore_ascii_case("oauth-authz-req+jwt") || typ.eq_ignore_ascii_case("jwt") => {}
        Some(_) => return Err(refused("the typ header of the request object is not accepted")),
    }
    let claims = &verified.payload;
    if claims["iss"].as_str() != Some(client.id.as_str()) {
        return Err(refused("iss of the request object is not the client_id"));
    }
    // RFC 9101 §10.8: otherwise it could be a client assertion, or be used as one.
    if claims["sub"].as_str() == Some(client.id.as_str()) {
        return Err(refused("sub of the request object must not be the client_id"));
    }
    if !is_for(&claims["aud"], issuer) {
        return Err(refused("aud of the request object is not this issuer"));
    }
    times(client, claims, now)?;
    let claims = claims.as_object().ok_or_else(|| refused("the request object is not a JSON object"))?;
    RawRequest::from_object(claims, outer)
}

fn is_for(audience: &Value, issuer: &str) -> bool {
    match audience {
        Value::String(one) => one == issuer,
        Value::Array(many) => many.iter().any(|one| one == issuer),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn times(client: &Client, claims: &Value, now: i64) -> Result<(), Refused> {
    let refused = |text: &str| refuse(ErrorCode::InvalidRequestObject, text);
    let number = |name: &str| match &claims[name] {
        Value::Null => Ok(None),
        value => {
            value.as_i64().map(Some).ok_or_else(|| refused("a time in the request object is not a number"))
        }
    };
    let (expires, begins, issued) = (number("exp")?, number("nbf")?, number("iat")?);
    if expires.is_some_and(|at| at <= now) {
        return Err(refused("the request object has expired"));
    }
    if begins.is_some_and(|at| at > now + AHEAD) || issued.is_some_and(|at| at > now + AHEAD) {
        return Err(refused("the request object is not yet valid"));
    }
    match (client.profile, expires, begins) {
        (Profile::Default, _, _) => Ok(()),
        (Profile::Fapi2, Some(end), Some(start))
            if end.saturating_sub(start) <= LONGEST && now.saturating_sub(start) <= LONGEST =>
        {
            Ok(())
        }
        (Profile::Fapi2, _, _) => Err(refused(
            "the request object must have exp and nbf, at most an hour apart, and be at most an hour old",
        )),
    }
}
