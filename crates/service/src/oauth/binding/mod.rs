//! Tokens that are of no use to a thief: bound to the client's certificate (RFC 8705 §3) or key (RFC 9449).
//!
//! 1. A proof that comes along must be good for this very request, fresh by a nonce of ours, and new on every node. That
//!    it was used is remembered only where something genuine comes with it ([`Remember`]).
//! 2. A client that registered for bound tokens, or lives by the `fapi2` profile, gets no others.
//! 3. The binding goes into the token (`cnf`); for public clients also into the grant, so that a stolen refresh token is
//!    of no use either.

mod store;

use porteiro_protocol::{
    access_token::Confirmation,
    certificate::Certificate,
    dpop::{DpopError, Expected, MAX_AGE, MAX_AHEAD, Proof},
    error::ErrorCode,
    id::ordered_floor,
};
use uuid::Uuid;

use super::{
    clients::{Client, Profile},
    verifying,
};
use crate::{
    App,
    http::{OAuthError, RequestContext},
    limits::{Bucket, PROOF},
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

impl From<Confirmation> for Binding {
    fn from(confirmation: Confirmation) -> Self {
        match (confirmation.key, confirmation.certificate) {
            (Some(key), _) => Self::Key(key),
            (None, Some(hash)) => Self::Certificate(hash),
            (None, None) => Self::Bearer,
        }
    }
}

impl Binding {
    pub const fn token_type(self) -> &'static str {
        match self {
            Self::Bearer | Self::Certificate(_) => "Bearer",
            Self::Key(_) => "DPoP",
        }
    }

    /// The `cnf` claim (RFC 7800 §3.1).
    pub const fn confirmation(self) -> Confirmation {
        match self {
            Self::Bearer => Confirmation { key: None, certificate: None },
            Self::Certificate(hash) => Confirmation { key: None, certificate: Some(hash) },
            Self::Key(hash) => Confirmation { key: Some(hash), certificate: None },
        }
    }

    pub const fn thumbprint(self) -> Option<[u8; 32]> {
        match self {
            Self::Bearer => None,
            Self::Certificate(hash) | Self::Key(hash) => Some(hash),
        }
    }
}

/// Whether a used proof is remembered: each is a row (docs/decisions/0079).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remember {
    /// What comes with it is junk, and refused.
    No,
    /// For a client that is verified, or limited already.
    Yes,
    /// For whatever this is the id of, so often and no more.
    Within(Uuid),
}

impl Remember {
    /// What comes with a proof is the row of this id.
    pub fn within(client: &Client, row: Uuid) -> Self {
        if client.is_verified() && !client.is_public() { Self::Yes } else { Self::Within(row) }
    }
}

/// What the tokens of this request are bound to.
pub async fn of_request(
    app: &App,
    context: &RequestContext,
    client: &Client,
    path: &str,
    remember: Remember,
) -> Result<Binding, OAuthError> {
    if let Some(proof) = proof(app, context, "POST", path, None).await? {
        spend(app, &proof, remember).await?;
        return Ok(Binding::Key(proof.jkt));
    }
    let metadata = &client.metadata;
    if metadata.dpop_bound_access_tokens == Some(true) {
        return Err(OAuthError::new(ErrorCode::InvalidDpopProof, "this client must send a DPoP proof"));
    }
    let needs_certificate =
        metadata.tls_client_certificate_bound_access_tokens == Some(true) || client.profile == Profile::Fapi2;
    if !needs_certificate {
        return Ok(Binding::Bearer);
    }
    certificate(context)
        .map(Binding::Certificate)
        .ok_or_else(|| OAuthError::new(ErrorCode::InvalidRequest, "this client must present its certificate"))
}

/// The certificate that came with a request, by its hash.
pub fn certificate(context: &RequestContext) -> Option<[u8; 32]> {
    let der = context.certificate.as_ref()?;
    Certificate::parse(der).ok().map(|certificate| certificate.thumbprint())
}

/// A good DPoP proof, not used up yet ([`spend`]); none where none came along.
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
        [_, _, ..] => return Err(refused("send exactly one DPoP proof".into())),
    };
    let verified = verify(app, text, method, path, access_token).await;
    let proof = verified.ok_or_else(|| OAuthError::new(ErrorCode::ServerError, ""))?;
    let proof = proof.map_err(|error| refused(error.to_string()))?;
    let now = app.clock.now().unix_timestamp();
    if !proof.nonce.as_deref().is_some_and(|nonce| app.secrets.is_nonce(nonce, now)) {
        return Err(OAuthError::new(
            ErrorCode::UseDpopNonce,
            "the DPoP proof must contain the nonce from this response",
        )
        .nonce(app.secrets.nonce(now)));
    }
    Ok(Some(proof))
}

async fn verify(
    app: &App,
    text: &str,
    method: &str,
    path: &str,
    access_token: Option<&str>,
) -> Option<Result<Proof, DpopError>> {
    let (now, uri) = (app.clock.now(), format!("{}{path}", app.issuer()));
    let (proof, method, token) = (text.to_owned(), method.to_owned(), access_token.map(str::to_owned));
    verifying::run(text, move || {
        let expected = Expected { method: &method, uri: &uri, now, access_token: token.as_deref() };
        Proof::verify(&proof, &expected)
    })
    .await
}

/// Uses a proof up.
///
/// # Errors
/// When it was used before, or its owner uses too many.
pub async fn spend(app: &App, proof: &Proof, remember: Remember) -> Result<(), OAuthError> {
    let bucket = |whom: Uuid| Bucket { rule: PROOF, key: app.secrets.limit_key(PROOF.name, whom.as_bytes()) };
    let within = match remember {
        Remember::No => return Ok(()),
        Remember::Yes => None,
        Remember::Within(whom) => Some(bucket(whom)),
    };
    let expiry = ordered_floor(proof.iat + MAX_AGE + MAX_AHEAD);
    let used = store::Used { key: proof.jkt, jti_hash: sha256(proof.jti.as_bytes()), expiry };
    match store::use_proof(&app.store, &used, within.as_ref()).await? {
        store::Spent::Now => Ok(()),
        store::Spent::Before => {
            Err(OAuthError::new(ErrorCode::InvalidDpopProof, "the DPoP proof was already used"))
        }
        store::Spent::TooMany => Err(OAuthError::slow_down()),
    }
}
