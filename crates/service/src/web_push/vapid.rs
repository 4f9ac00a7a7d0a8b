//! How push services know us (VAPID, RFC 8292). Pure, apart from the key.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::jose::SigningKey;
use serde_json::{Value, json};
use url::Url;

use crate::secrets::MasterKey;

/// RFC 8292 §2: at most a day.
const SECONDS: i64 = 12 * 3_600;
/// Not every 32 bytes are a key of the curve: one in four thousand million is not.
const PURPOSES: [&str; 2] = ["porteiro/vapid/1", "porteiro/vapid/2"];

/// Derived from the master key: all nodes have the same, and subscriptions, which are made for it, outlive everything else.
pub struct PushKey {
    key: SigningKey,
    public: String,
}

impl std::fmt::Debug for PushKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<push key>")
    }
}

impl PushKey {
    /// # Errors
    /// When the master key yields none.
    pub fn derive(master: &MasterKey) -> Result<Self, String> {
        let scalars = PURPOSES.iter().filter_map(|purpose| master.subkey(purpose).ok());
        let mut keys = scalars.filter_map(|scalar| SigningKey::from_p256_scalar(&scalar).ok());
        let key = keys.next().ok_or("the key for push services cannot be derived")?;
        let point = key.public().p256_point().ok_or("the key for push services is not of its curve")?;
        Ok(Self { key, public: URL_SAFE_NO_PAD.encode(point) })
    }

    /// With which a browser subscribes: an uncompressed point.
    pub fn public(&self) -> &str {
        &self.public
    }

    /// `Authorization` of a message to an address (§3). `subject` says who we are. `None` where the address is no URL, or
    /// the key refuses to sign.
    pub(super) fn authorization(&self, endpoint: &str, subject: &str, now: i64) -> Option<String> {
        let audience = Url::parse(endpoint).ok()?.origin().ascii_serialization();
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let claims = json!({"aud": audience, "exp": now + SECONDS, "sub": subject});
        let input = format!("{}.{}", encode(&json!({"typ": "JWT", "alg": "ES256"})), encode(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(input.as_bytes()).ok()?);
        Some(format!("vapid t={input}.{signature}, k={}", self.public))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use porteiro_protocol::{
        entropy::Entropy,
        jose::{Algorithm, verify_compact},
    };

    use super::*;

    struct Zeros;
    impl Entropy for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    fn key() -> PushKey {
        PushKey::derive(&MasterKey::development(Arc::new(Zeros)).unwrap()).unwrap()
    }

    #[test]
    fn every_node_has_the_same_key_and_it_is_not_printed() {
        let (one, other) = (key(), key());
        assert_eq!(one.public(), other.public());
        let point = URL_SAFE_NO_PAD.decode(one.public()).unwrap();
        assert_eq!((point.len(), point[0]), (65, 4));
        assert_eq!(format!("{one:?}"), "<push key>");
    }

    #[test]
    fn a_message_is_signed_for_one_push_service_and_half_a_day() {
        let key = key();
        let said = key.authorization("https://push.example/a/b?c", "https://id.example.test", 1_000).unwrap();
        let (token, public) = said.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, key.public());
        let jwk = serde_json::to_value(key.key.public()).unwrap();
        let claims = verify_compact(token, &[jwk], &[Algorithm::Es256]).unwrap().payload;
        let expected =
            json!({"aud": "https://push.example", "exp": 44_200, "sub": "https://id.example.test"});
        assert_eq!(claims, expected);
        assert_eq!(key.authorization("push.example", "", 0), None);
    }
}
