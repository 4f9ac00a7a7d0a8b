//! Signs messages to the operator's own receivers (Standard Webhooks 1.0.0).

use aws_lc_rs::hmac;
use base64::{Engine, engine::general_purpose::STANDARD};

const PREFIX: &str = "whsec_";

/// Why a secret cannot be used. The text is for the operator.
pub const SECRET_RULE: &str = "must be whsec_ and the base64 of 24 to 64 random bytes";

/// The key of one receiver.
pub struct WebhookKey(hmac::Key);

impl std::fmt::Debug for WebhookKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<webhook key>")
    }
}

/// A message that can be sent again: receivers tell repetitions by its id.
#[derive(Debug)]
pub struct WebhookMessage {
    pub id: String,
    /// When this attempt is made, in seconds since 1970.
    pub timestamp: i64,
    pub body: String,
}

impl WebhookKey {
    pub fn parse(secret: &str) -> Option<Self> {
        let bytes = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
        (24..=64).contains(&bytes.len()).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, &bytes)))
    }

    /// The value of `webhook-signature`.
    pub fn sign(&self, message: &WebhookMessage) -> String {
        let WebhookMessage { id, timestamp, body } = message;
        let tag = hmac::sign(&self.0, format!("{id}.{timestamp}.{body}").as_bytes());
        format!("v1,{}", STANDARD.encode(tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference implementations.
    #[test]
    fn a_message_is_signed_as_every_library_verifies_it() {
        let key = WebhookKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let message = WebhookMessage {
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".into(),
            timestamp: 1_614_265_330,
            body: r#"{"test": 2432232314}"#.into(),
        };
        assert_eq!(key.sign(&message), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_long_enough_and_written_as_the_standard_says() {
        for wrong in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%"] {
            assert!(WebhookKey::parse(wrong).is_none(), "{wrong}");
        }
    }
}
