//! What clients sign: request objects and DPoP proofs.

use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::jose::{Algorithm, SigningKey, generate_pkcs8};
use serde_json::{Value, json};

/// A client's key.
#[derive(Debug)]
pub struct ClientKey {
    algorithm: Algorithm,
    key: SigningKey,
    pkcs8: Vec<u8>,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// RSA keys take a while to make: the first one of a test is the first one of every other, and so on.
fn rsa_pkcs8() -> Vec<u8> {
    static MADE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
    thread_local!(static TAKEN: Cell<usize> = const { Cell::new(0) });
    let number = TAKEN.replace(TAKEN.get() + 1);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    while made.len() <= number {
        made.push(generate_pkcs8(Algorithm::Rs256).unwrap().to_vec());
    }
    made[number].clone()
}

impl ClientKey {
    pub fn new() -> Self {
        Self::of(Algorithm::Es256)
    }

    pub fn of(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Rs256 | Algorithm::Ps256 => Self::from(algorithm, rsa_pkcs8()),
            Algorithm::Es256 | Algorithm::EdDsa => {
                Self::from(algorithm, generate_pkcs8(algorithm).unwrap().to_vec())
            }
        }
    }

    fn from(algorithm: Algorithm, pkcs8: Vec<u8>) -> Self {
        Self { algorithm, key: SigningKey::from_pkcs8(algorithm, &pkcs8).unwrap(), pkcs8 }
    }

    /// The same key, signing by another algorithm.
    pub fn speaking(&self, algorithm: Algorithm) -> Self {
        Self::from(algorithm, self.pkcs8.clone())
    }

    pub fn jwk(&self) -> Value {
        serde_json::to_value(self.key.public()).unwrap()
    }

    pub fn jwks(&self) -> Value {
        json!({"keys": [self.jwk()]})
    }

    /// RFC 7638.
    pub fn thumbprint(&self) -> String {
        URL_SAFE_NO_PAD.encode(porteiro_protocol::jose::thumbprint(&self.jwk()).unwrap())
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.key.sign(signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// Under the header of this kind of token.
    pub fn typed(&self, typ: &str, claims: &Value) -> String {
        self.sign(&json!({"alg": self.algorithm.as_str(), "typ": typ, "kid": self.jwk()["kid"]}), claims)
    }

    pub fn request_object(&self, claims: &Value) -> String {
        self.typed("oauth-authz-req+jwt", claims)
    }

    /// A DPoP proof for a request; `more` replaces claims.
    pub fn proof(&self, method: &str, uri: &str, now: i64, more: &Value) -> String {
        let mut jwk = self.jwk();
        for name in ["kid", "alg", "use"] {
            jwk.as_object_mut().unwrap().remove(name);
        }
        let jti = format!("jti-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut claims = json!({"htm": method, "htu": uri, "iat": now, "jti": jti});
        for (name, value) in more.as_object().into_iter().flatten() {
            claims[name] = value.clone();
        }
        self.sign(&json!({"alg": self.algorithm.as_str(), "typ": "dpop+jwt", "jwk": jwk}), &claims)
    }
}

/// `ath` of RFC 9449 §4.2.
pub fn token_hash(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, token.as_bytes()))
}
