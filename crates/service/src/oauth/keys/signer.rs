//! The interface of every signature. A hardware module is another implementation of [`Signer`]; callers do not
//! change.

use std::{pin::Pin, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::jose::{Algorithm, Header, KeyError, SigningKey, signing_input};
use serde::Serialize;

#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("there is no active {0} key")]
    NoKey(Algorithm),
    #[error("the signing keys have not been reloaded for too long")]
    Stale,
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("the claims cannot be serialized: {0}")]
    Claims(#[from] serde_json::Error),
    #[error("signing was interrupted")]
    Interrupted,
}

pub type Signature<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, SignError>> + Send + 'a>>;

pub trait Signer: Send + Sync {
    fn kid(&self) -> &str;
    fn algorithm(&self) -> Algorithm;
    fn sign(&self, message: Vec<u8>) -> Signature<'_>;
}

impl dyn Signer {
    /// A compact JWS of the given type (RFC 7515 §7.1).
    pub async fn jwt<C: Serialize>(&self, typ: &str, claims: &C) -> Result<String, SignError> {
        let header = Header { typ, alg: self.algorithm(), kid: self.kid() };
        let mut token = signing_input(&header, claims)?;
        let signature = self.sign(token.as_bytes().to_vec()).await?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(token)
    }
}

/// A key in the memory of this process, parsed once.
#[derive(Debug)]
pub struct LocalSigner {
    key: Arc<SigningKey>,
}

impl LocalSigner {
    pub fn new(key: SigningKey) -> Self {
        Self { key: Arc::new(key) }
    }
}

impl Signer for LocalSigner {
    fn kid(&self) -> &str {
        &self.key.public().kid
    }

    fn algorithm(&self) -> Algorithm {
        self.key.algorithm()
    }

    fn sign(&self, message: Vec<u8>) -> Signature<'_> {
        if !self.key.algorithm().is_slow() {
            let signature = self.key.sign(&message).map_err(SignError::from);
            return Box::pin(std::future::ready(signature));
        }
        let key = Arc::clone(&self.key);
        Box::pin(async move {
            tokio::task::spawn_blocking(move || key.sign(&message))
                .await
                .map_err(|_| SignError::Interrupted)?
                .map_err(SignError::from)
        })
    }
}
