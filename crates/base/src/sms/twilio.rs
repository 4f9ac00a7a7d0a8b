//! The API of Twilio, which several other providers support too.

use super::{Sms, needed};
use crate::{
    fetch::{Destination, FetchError, Fetcher},
    settings::{Sensitive, SmsSettings},
};

const TWILIO: &str = "https://api.twilio.com";

/// Contains a secret, so it is not printed.
pub struct Twilio {
    address: String,
    account: String,
    secret: Sensitive,
    from: String,
}

impl std::fmt::Debug for Twilio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<twilio>")
    }
}

impl Twilio {
    pub(super) fn open(settings: &SmsSettings<'_>) -> Result<Self, String> {
        let account = needed(settings.account, "sms_account", "twilio")?;
        if !account.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err("sms_account must contain letters and digits only".into());
        }
        needed(settings.secret.map(Sensitive::expose), "sms_secret", "twilio")?;
        let from = needed(settings.from, "sms_from", "twilio")?;
        let base = settings.url.unwrap_or(TWILIO).trim_end_matches('/');
        Ok(Self {
            address: format!("{base}/2010-04-01/Accounts/{account}/Messages.json"),
            account: account.to_owned(),
            secret: settings.secret.cloned().unwrap_or_default(),
            from: from.to_owned(),
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) async fn post(&self, fetcher: &Fetcher, sms: &Sms) -> Result<u16, FetchError> {
        let form = [("To", sms.to.as_str()), ("From", &self.from), ("Body", &sms.text)];
        let login = (self.account.as_str(), self.secret.expose());
        fetcher.post_form(Destination::Operators, &self.address, Some(login), &form).await
    }
}
