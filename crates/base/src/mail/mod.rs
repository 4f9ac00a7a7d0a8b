//! Mail, always through the outbox: a request never waits for a mail server, and its timing does not disclose whether a
//! mail is sent.

mod smtp;
pub mod templates;

use lettre::{
    Message,
    message::{Mailbox, MultiPart},
};
use porteiro_protocol::id::Id;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Core,
    jobs::{self, Host, JobError, JobKind},
    settings::{Checked, Mode, SmtpAddress},
    store::{StoreError, Tx},
};

pub const JOB: &str = "mail.send";

/// One mail, in both forms.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mail {
    pub to: String,
    pub subject: String,
    pub text: String,
    pub html: String,
    /// Unix seconds after which it is not sent, because its code has expired.
    #[serde(default)]
    pub not_after: Option<i64>,
}

impl Mail {
    #[must_use]
    pub const fn until(mut self, not_after: i64) -> Self {
        self.not_after = Some(not_after);
        self
    }
}

/// Contains an address and perhaps a code, so it is not printed.
impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<mail>")
    }
}

/// How mail is sent.
pub enum Mailer {
    Smtp(smtp::Smtp),
    /// `--dev` without a mail server: printed, so that a developer can follow the link.
    Console(fn(&Mail)),
    /// Production without a mail server.
    Nowhere,
}

impl std::fmt::Debug for Mailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Smtp(_) => "<mail by SMTP>",
            Self::Console(_) => "<mail on the console>",
            Self::Nowhere => "<no mail>",
        })
    }
}

impl Mailer {
    /// # Errors
    /// What is wrong with the mail settings.
    pub fn open(checked: &Checked, console: fn(&Mail)) -> Result<Self, String> {
        match (&checked.settings.smtp_url, checked.mode) {
            (Some(address), _) => {
                let address = SmtpAddress::parse(address.expose())?;
                smtp::Smtp::open(&address, checked.settings.smtp_ca_file.as_deref()).map(Self::Smtp)
            }
            (None, Mode::Development) => Ok(Self::Console(console)),
            (None, Mode::Production) => Ok(Self::Nowhere),
        }
    }

    /// Connects to the mail server, encrypts and authenticates, but sends nothing.
    pub async fn probe(&self) -> Result<(), String> {
        match self {
            Self::Smtp(smtp) => smtp.probe().await,
            Self::Console(_) => Ok(()),
            Self::Nowhere => Err("smtp_url is not set, so no mail can be sent".into()),
        }
    }
}

/// Enqueues a mail in the caller's transaction.
pub async fn enqueue(core: &Core, tx: &Tx, mail: &Mail) -> Result<(), StoreError> {
    let payload = core.secrets.seal_letter(JOB, mail, &*core.entropy)?;
    jobs::enqueue(tx, Id::ordered(core.clock.now(), &*core.entropy), JOB, &payload).await
}

/// The job that sends them.
pub const fn delivery<A: Host>() -> JobKind<A> {
    JobKind::<A>::new(JOB, |app, payload| Box::pin(async move { deliver(app.core(), &payload).await }))
        .attempts(16)
}

async fn deliver(core: &Core, payload: &Value) -> Result<(), JobError> {
    let mail: Mail =
        core.secrets.open_letter(JOB, payload).ok_or_else(|| JobError::Hopeless("not a mail".into()))?;
    if mail.not_after.is_some_and(|until| until < core.clock.now().unix_timestamp()) {
        tracing::info!("a mail was not sent because its code had expired");
        return Ok(());
    }
    match &core.mailer {
        Mailer::Smtp(smtp) => smtp.send(compose(&core.checked.settings.mail_from, &mail)?).await,
        Mailer::Console(print) => {
            print(&mail);
            Ok(())
        }
        Mailer::Nowhere => Err(JobError::Failed("smtp_url is not set".into())),
    }
}

#[derive(Debug, Clone)]
struct AutoSubmitted;

impl lettre::message::header::Header for AutoSubmitted {
    fn name() -> lettre::message::header::HeaderName {
        lettre::message::header::HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> lettre::message::header::HeaderValue {
        lettre::message::header::HeaderValue::new(Self::name(), "auto-generated".into())
    }
}

fn compose(from: &str, mail: &Mail) -> Result<Message, JobError> {
    let hopeless = |what: &str| JobError::Hopeless(format!("{what} is not a mail address"));
    let from: Mailbox = from.parse().map_err(|_| hopeless("mail_from"))?;
    let to: Mailbox = mail.to.parse().map_err(|_| hopeless("the recipient"))?;
    Message::builder()
        .from(from)
        .to(to)
        .subject(mail.subject.clone())
        // RFC 3834 §5: sent automatically, so that automatic responders do not answer.
        .header(AutoSubmitted)
        .multipart(MultiPart::alternative_plain_html(mail.text.clone(), mail.html.clone()))
        .map_err(|error| JobError::Hopeless(error.to_string()))
}
