//! Sender-constrained tokens, which are useless to a thief: bound to the client's certificate (RFC 8705 §3) or key
//! (RFC 9449).
//!
//! 1. A DPoP proof must match its request, have a current nonce of ours, and be new on every node. Its use is stored
//!    only if it comes with a genuine code or token ([`Remember`]).
//! 2. A client that registered for bound tokens, or has the `fapi2` profile, receives only bound tokens.
//! 3. The binding is in the token (`cnf`); for public clients also in the grant, so that a stolen refresh token is
//!    useless too.

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

/// The binding of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// None: its holder may use it.
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

/// Whether the use of a DPoP proof is stored, as one row (docs/decisions/0079).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remember {
    /// The code or token beside it is not genuine, and is refused.
    No,
    /// For a client that is verified, or whose requests are limited elsewhere.
    Yes,
    /// Up to a limit for the row of this id.
    Within(Uuid),
}

impl Remember {
    /// For a DPoP proof that comes with the code or token of this row.
    pub fn within(client: &Client, row: Uuid) -> Self {
        if client.is_verified() && !client.is_public() { Self::Yes } else { Self::Within(row) }
    }
}

/// The binding of the tokens of this request.
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

/// The hash of the certificate of a request.
pub fn certificate(context: &RequestContext) -> Option<[u8; 32]> {
    let der = context.certificate.as_ref()?;
    Certificate::parse(der).ok().map(|certificate| certificate.thumbprint())
}

/// A valid DPoP proof, not yet consumed ([`spend`]); `None` if the request has none.
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

/// Consumes a DPoP proof.
///
/// # Errors
/// When it was used before, or the limit of its row is reached.
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
