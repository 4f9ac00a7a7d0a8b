//! Text messages, always through the outbox and the provider in the settings.
//!
//! Text messages are the weakest proof, and each costs money: the callers decide who may receive one, and how often.

mod twilio;
mod webhook;

use porteiro_protocol::id::Id;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use twilio::Twilio;
use webhook::Webhook;

use crate::{
    Core,
    fetch::{FetchError, Fetcher},
    jobs::{self, Host, JobError, JobKind},
    settings::{Mode, SmsProviderName, SmsSettings},
    store::{StoreError, Tx},
};

pub const JOB: &str = "sms.send";

/// The recipient of a message that is queued but not sent: where the answer must not disclose whether a person has a
/// number, the outbox gets a row in both cases.
pub const NOBODY: &str = "";

/// One message to one number (E.164: a plus sign and at most fifteen digits).
#[derive(Clone, Serialize, Deserialize)]
pub struct Sms {
    pub to: String,
    pub text: String,
    /// Unix seconds after which it is not sent.
    #[serde(default)]
    pub not_after: Option<i64>,
}

/// Contains a number and a code, so it is not printed.
impl std::fmt::Debug for Sms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<sms>")
    }
}

/// How text messages are sent.
pub enum SmsProvider {
    Twilio(Twilio),
    Webhook(Webhook),
    /// `--dev` without a provider: printed, so that a developer can read the code.
    Console(fn(&Sms)),
    /// Production without a provider.
    Nowhere,
}

impl std::fmt::Debug for SmsProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Twilio(_) => "<sms by Twilio>",
            Self::Webhook(_) => "<sms by webhook>",
            Self::Console(_) => "<sms on the console>",
            Self::Nowhere => "<no sms>",
        })
    }
}

impl SmsProvider {
    /// # Errors
    /// What is wrong with the settings, by their names.
    pub fn open(settings: &SmsSettings<'_>, mode: Mode, console: fn(&Sms)) -> Result<Self, String> {
        match (settings.provider, mode) {
            (SmsProviderName::None, Mode::Development) => Ok(Self::Console(console)),
            (SmsProviderName::None, Mode::Production) => Ok(Self::Nowhere),
            (SmsProviderName::Twilio, _) => Twilio::open(settings).map(Self::Twilio),
            (SmsProviderName::Webhook, _) => Webhook::open(settings).map(Self::Webhook),
        }
    }

    pub const fn is_available(&self) -> bool {
        !matches!(self, Self::Nowhere)
    }

    /// The URL to which messages are posted, for the check of settings.
    pub fn address(&self) -> Option<&str> {
        match self {
            Self::Twilio(twilio) => Some(twilio.address()),
            Self::Webhook(webhook) => Some(webhook.address()),
            Self::Console(_) | Self::Nowhere => None,
        }
    }

    pub async fn send(&self, fetcher: &Fetcher, sms: &Sms) -> Result<(), JobError> {
        if !is_number(&sms.to) {
            return Err(JobError::Hopeless("the recipient is not a phone number".into()));
        }
        let status = match self {
            Self::Twilio(twilio) => twilio.post(fetcher, sms).await,
            Self::Webhook(webhook) => webhook.post(fetcher, sms).await,
            Self::Console(print) => {
                print(sms);
                return Ok(());
            }
            Self::Nowhere => return Err(JobError::Failed("sms_provider is not set".into())),
        };
        outcome(status)
    }
}

/// Enqueues a message in the caller's transaction.
pub async fn enqueue(core: &Core, tx: &Tx, sms: &Sms) -> Result<(), StoreError> {
    let payload = core.secrets.seal_letter(JOB, sms, &*core.entropy)?;
    jobs::enqueue(tx, Id::ordered(core.clock.now(), &*core.entropy), JOB, &payload).await
}

/// The job that sends them.
pub const fn delivery<A: Host>() -> JobKind<A> {
    JobKind::<A>::new(JOB, |app, payload| Box::pin(async move { deliver(app.core(), &payload).await }))
        .attempts(8)
}

async fn deliver(core: &Core, payload: &Value) -> Result<(), JobError> {
    let sms: Sms =
        core.secrets.open_letter(JOB, payload).ok_or_else(|| JobError::Hopeless("not an sms".into()))?;
    if sms.to == NOBODY {
        return Ok(());
    }
    if sms.not_after.is_some_and(|until| until < core.clock.now().unix_timestamp()) {
        tracing::info!("a text message was not sent because its code had expired");
        return Ok(());
    }
    if !is_allowed(&core.checked.settings.sms_countries, &sms.to) {
        return Err(JobError::Hopeless("the number is not in any of sms_countries".into()));
    }
    core.sms.send(&core.fetcher, &sms).await
}

/// Whether messages may be sent to a number. An empty list, which only `--dev` allows, means any number.
pub fn is_allowed(countries: &[String], number: &str) -> bool {
    countries.is_empty() || countries.iter().any(|code| number.starts_with(code.as_str()))
}

/// The provider's text may quote number and message; its status is enough.
fn outcome(status: Result<u16, FetchError>) -> Result<(), JobError> {
    match status {
        Ok(200..=299) => Ok(()),
        Ok(status @ (400..=407 | 409..=428 | 430..=499)) => {
            Err(JobError::Hopeless(format!("the sms provider refused permanently ({status})")))
        }
        Ok(status) => Err(JobError::Failed(format!("the sms provider refused temporarily ({status})"))),
        Err(FetchError) => Err(JobError::Failed("the sms provider cannot be reached".into())),
    }
}

fn is_number(text: &str) -> bool {
    text.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.starts_with('0')
    })
}

/// A setting that the chosen provider requires.
fn needed<'a>(value: Option<&'a str>, name: &str, provider: &str) -> Result<&'a str, String> {
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| format!("{name} is required for sms_provider {provider}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Sensitive;

    #[test]
    fn numbers_are_e164() {
        for (text, good) in [
            ("+5511987654321", true),
            ("+123456789012345", true),
            ("+1234567890123456", false),
            ("5511987654321", false),
            ("+0511987654321", false),
            ("+55 11 98765", false),
            ("+55119876&To=9", false),
            ("+", false),
            ("", false),
        ] {
            assert_eq!(is_number(text), good, "{text}");
        }
    }

    #[test]
    fn countries_are_prefixes_of_numbers() {
        let countries = ["+55".to_owned(), "+1242".to_owned()];
        for (number, allowed) in [
            ("+5511987654321", true),
            ("+12425550100", true),
            ("+12125550100", false),
            ("+351912345678", false),
        ] {
            assert_eq!(is_allowed(&countries, number), allowed, "{number}");
            assert!(is_allowed(&[], number));
        }
    }

    #[test]
    fn only_refusals_for_good_are_given_up() {
        for status in 200..=599 {
            let hopeless = matches!(outcome(Ok(status)), Err(JobError::Hopeless(_)));
            assert_eq!(hopeless, (400..500).contains(&status) && status != 408 && status != 429, "{status}");
            assert_eq!(outcome(Ok(status)).is_ok(), status < 300);
        }
        assert!(matches!(outcome(Err(FetchError)), Err(JobError::Failed(_))));
    }

    #[test]
    fn settings_that_miss_something_are_refused_by_name_and_nothing_prints() {
        let secret = Sensitive::new("s3cret");
        let whole = SmsSettings {
            provider: SmsProviderName::Twilio,
            url: None,
            account: Some("AC0123"),
            secret: Some(&secret),
            from: Some("+15005550006"),
        };
        let open = |settings: SmsSettings<'_>| SmsProvider::open(&settings, Mode::Production, |_| {});
        let provider = open(whole).unwrap();
        assert_eq!(
            provider.address(),
            Some("https://api.twilio.com/2010-04-01/Accounts/AC0123/Messages.json")
        );
        assert!(provider.is_available());
        assert!(!format!("{provider:?} {whole:?}").contains("s3cret"));
        for (settings, named) in [
            (SmsSettings { account: None, ..whole }, "sms_account"),
            (SmsSettings { account: Some("../x"), ..whole }, "sms_account"),
            (SmsSettings { secret: None, ..whole }, "sms_secret"),
            (SmsSettings { from: Some(""), ..whole }, "sms_from"),
            (SmsSettings { provider: SmsProviderName::Webhook, ..whole }, "sms_url"),
        ] {
            assert!(open(settings).unwrap_err().starts_with(named), "{named}");
        }
        let none = SmsSettings { provider: SmsProviderName::None, ..whole };
        assert!(!open(none).unwrap().is_available());
        assert!(matches!(SmsProvider::open(&none, Mode::Development, |_| {}), Ok(SmsProvider::Console(_))));
    }
}
