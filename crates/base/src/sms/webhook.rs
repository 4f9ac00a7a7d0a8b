//! Posts a message as `{"to", "text"}` to a URL of the operator, for all other providers.

use serde_json::json;

use super::{Sms, needed};
use crate::{
    fetch::{Destination, FetchError, Fetcher},
    settings::{Sensitive, SmsSettings},
};

/// Contains a secret, so it is not printed.
pub struct Webhook {
    address: String,
    secret: Option<Sensitive>,
}

impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<webhook>")
    }
}

impl Webhook {
    pub(super) fn open(settings: &SmsSettings<'_>) -> Result<Self, String> {
        Ok(Self {
            address: needed(settings.url, "sms_url", "webhook")?.to_owned(),
            secret: settings.secret.filter(|secret| !secret.is_empty()).cloned(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) async fn post(&self, fetcher: &Fetcher, sms: &Sms) -> Result<u16, FetchError> {
        let body = json!({ "to": sms.to, "text": sms.text });
        let bearer = self.secret.as_ref().map(Sensitive::expose);
        fetcher.post_json(Destination::Operators, &self.address, bearer, &body).await
    }
}
