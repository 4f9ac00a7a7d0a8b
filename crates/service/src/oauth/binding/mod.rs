//! Tokens that are of no use to a thief: bound to the client's certificate (RFC 8705 §3) or key (RFC 9449).
//!
//! 1. A proof that comes along must be good for this very request, fresh by a nonce of ours, and new on every node.
//! 2. A client that registered for bound tokens, or lives by the `fapi2` profile, gets no others.
//! 3. The binding goes into the token (`cnf`); for public clients also into the grant, so that a stolen refresh token is
//!    of no use either.

mod store;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    certificate::Certificate,
    dpop::{Expected, MAX_AGE, MAX_AHEAD, Proof},
    error::ErrorCode,
    id::ordered_floor,
};
use serde_json::{Value, json};

use super::clients::{Client, Profile};
use crate::{
    App,
    http::{OAuthError, RequestContext},
    secrets::sha256,
};

/// What a token is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// Whoever holds it may use it.
    Bearer,
    /// SHA-256 of the certificate.
    Certificate([u8; 32]),
    /// Thumbprint of the key.
    Key([u8; 32]),
}

impl Binding {
    pub const fn token_type(self) -> &'static str {
        match self {
            Self::Bearer | Self::Certificate(_) => "Bearer",
            Self::Key(_) => "DPoP",
        }
    }

    /// The `cnf` claim (RFC 7800 §3.1).
    pub fn confirmation(self) -> Option<Value> {
        match self {
            Self::Bearer => None,
            Self::Certificate(hash) => Some(json!({"x5t#S256": URL_SAFE_NO_PAD.encode(hash)})),
            Self::Key(hash) => Some(json!({"jkt": URL_SAFE_NO_PAD.encode(hash)})),
        }
    }

    pub const fn thumbprint(self) -> Option<[u8; 32]> {
        match self {
            Self::Bearer => None,
            Self::Certificate(hash) | Self::Key(hash) => Some(hash),
        }
    }
}

/// What the tokens of this request are bound to.
pub async fn of_request(
    app: &App,
    context: &RequestContext,
    client: &Client,
    path: &str,
) -> Result<Binding, OAuthError> {
    if let Some(proof) = proof(app, context, "POST", path, None).await? {
        return Ok(Binding::Key(proof.jkt));
    }
    let metadata = &client.metadata;
    if metadata.dpop_bound_access_tokens == Some(true) {
        return Err(OAuthError::new(ErrorCode::InvalidDpopProof, "this client's tokens need a DPoP proof"));
    }
    let needs_certificate =
        metadata.tls_client_certificate_bound_access_tokens == Some(true) || client.profile == Profile::Fapi2;
    if !needs_certificate {
        return Ok(Binding::Bearer);
    }
    certificate(context).map(Binding::Certificate).ok_or_else(|| {
        OAuthError::new(ErrorCode::InvalidRequest, "this client's tokens need its certificate")
    })
}

/// The certificate that came with a request, by its hash.
pub fn certificate(context: &RequestContext) -> Option<[u8; 32]> {
    let der = context.certificate.as_ref()?;
    Certificate::parse(der).ok().map(|certificate| certificate.thumbprint())
}

/// A good DPoP proof, used up; none where none came along.
pub async fn proof(
    app: &App,
    context: &RequestContext,
    method: &str,
    path: &str,
    access_token: Option<&str>,
) -> Result<Option<Proof>, OAuthError> {
    let refused = |text: String| OAuthError::new(ErrorCode::InvalidDpopProof, text);
    let text = match context.dpop.as_slice() {
        [] => return Ok(None),
        [one] => one,
        [_, _, ..] => return Err(refused("send one DPoP proof".into())),
    };
    let uri = format!("{}{path}", app.issuer());
    let expected = Expected { method, uri: &uri, now: app.clock.now(), access_token };
    let proof = Proof::verify(text, &expected).map_err(|error| refused(error.to_string()))?;
    let now = app.clock.now().unix_timestamp();
    if !proof.nonce.as_deref().is_some_and(|nonce| app.secrets.is_nonce(nonce, now)) {
        return Err(OAuthError::new(ErrorCode::UseDpopNonce, "put the nonce of this answer into the proof")
            .nonce(app.secrets.nonce(now)));
    }
    let expiry = ordered_floor(proof.iat + MAX_AGE + MAX_AHEAD);
    if !store::use_proof(&app.store, &proof.jkt, &sha256(proof.jti.as_bytes()), expiry).await? {
        return Err(refused("the DPoP proof was used before".into()));
    }
    Ok(Some(proof))
}
