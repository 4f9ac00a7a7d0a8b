//! The settings of text messages, each as it was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sensitive, Settings};

/// The setting `sms_provider`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SmsProviderName {
    /// No text messages; with `--dev` they are printed on the console.
    #[default]
    None,
    /// Twilio, or another provider with the same API.
    Twilio,
    /// A JSON request with `to` and `text` to your own URL.
    Webhook,
}

/// The settings a provider is made of, each as it was written.
#[derive(Debug, Clone, Copy)]
pub struct SmsSettings<'a> {
    pub provider: SmsProviderName,
    pub url: Option<&'a str>,
    pub account: Option<&'a str>,
    pub secret: Option<&'a Sensitive>,
    pub from: Option<&'a str>,
}

impl Settings {
    /// What the provider of text messages is made of.
    pub fn sms(&self) -> SmsSettings<'_> {
        SmsSettings {
            provider: self.sms_provider,
            url: self.sms_url.as_deref(),
            account: self.sms_account.as_deref(),
            secret: self.sms_secret.as_ref(),
            from: self.sms_from.as_deref(),
        }
    }
}

/// A plus sign and the first digits of numbers.
pub fn is_calling_code(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (1..=7).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0')
    })
}
