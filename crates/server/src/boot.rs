//! From settings to a running application, or to a refusal to start with advice.

use std::{path::Path, sync::Arc};

use porteiro_protocol::{entropy::Entropy, time::Clock};
use porteiro_service::{
    App, Parts,
    fetch::{Destination, FetchPolicy, Fetcher, SECRET_RULE, WebhookKey},
    mail::{Mail, Mailer},
    oauth::{
        apis,
        keys::{self, Keys, LoadError, Origin},
    },
    secrets::MasterKey,
    settings::{Checked, Mode, Sensitive, Settings},
    sms::{Sms, SmsProvider},
    store::{
        Store,
        migrations::{self, SchemaState},
    },
};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    exit::Failure,
    say,
};

/// The checked settings, or the first finding.
pub fn check(settings: Settings, mode: Mode) -> Result<Checked, Failure> {
    settings.for_mode(mode).check(mode).map_err(|findings| {
        let more = match findings.len() {
            1 => String::new(),
            count => format!(" (and {} more: porteiro config check)", count - 1),
        };
        let first = findings.first().map(ToString::to_string).unwrap_or_default();
        Failure::refusal(format!("{first}{more}"))
    })
}

pub fn open_store(settings: &Settings) -> Result<Store, Failure> {
    Store::open(settings).map_err(|error| Failure::refusal(error.to_string()))
}

pub fn master_key(file: Option<&Path>, mode: Mode) -> Result<Arc<MasterKey>, Failure> {
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let key = match (mode, file) {
        (Mode::Development, _) => MasterKey::development(entropy),
        (Mode::Production, Some(file)) => MasterKey::from_file(file, entropy),
        (Mode::Production, None) => {
            return Err(Failure::refusal(
                "master_key_file: is not set; set it to a file and run: porteiro keys generate --create-master-key",
            ));
        }
    };
    key.map(Arc::new).map_err(|error| Failure::refusal(format!("master_key_file: {error}")))
}

/// Links in mails, and addresses that devices show, lead to the hosted screens if they are served, unless the operator
/// set other pages.
#[cfg(feature = "screens")]
fn with_own_pages(settings: &mut Settings) {
    if settings.screens {
        settings.email_link_path.get_or_insert_with(|| porteiro_screens::LINK_PAGE.into());
        settings.invitation_link_path.get_or_insert_with(|| porteiro_screens::INVITATION_PAGE.into());
        settings.device_page_path.get_or_insert_with(|| porteiro_screens::DEVICE_PAGE.into());
        settings.federation_page_path.get_or_insert_with(|| porteiro_screens::FEDERATION_PAGE.into());
    }
}

#[cfg(not(feature = "screens"))]
const fn with_own_pages(_: &mut Settings) {}

/// Everything `serve` needs, checked in the order in which an operator would fix it.
pub async fn assemble(mut checked: Checked) -> Result<Arc<App>, Failure> {
    with_own_pages(&mut checked.settings);
    let settings = &checked.settings;
    let master = master_key(settings.master_key_file.as_deref(), checked.mode)?;
    let store = open_store(settings)?;
    if settings.migrate_on_start {
        migrations::apply(&store, |step| tracing::info!(step = step.name, "a schema step was applied"))
            .await?;
    }
    match migrations::state(&store).await? {
        SchemaState::Expected => {}
        other => return Err(Failure::refusal(other.to_string())),
    }
    if let Some(advice) = apis::unfit(&apis::list(&store).await?, &checked.issuer) {
        return Err(Failure::refusal(advice));
    }
    let keys = signing_keys(&store, master, &checked).await?;
    let mailer =
        Mailer::open(&checked, print_mail).map_err(|error| Failure::refusal(format!("smtp_url: {error}")))?;
    let sms =
        SmsProvider::open(&checked.settings.sms(), checked.mode, print_sms).map_err(Failure::refusal)?;
    let policy = FetchPolicy {
        allowed_private_hosts: checked.settings.outbound_private_hosts.clone(),
        strangers_private_hosts: checked.settings.outbound_client_hosts.clone(),
        organizations_private_hosts: checked.settings.outbound_organization_hosts.clone(),
        private_ca_file: checked.settings.outbound_ca_file.clone(),
        ..FetchPolicy::default()
    };
    if let Some(Err(reason)) = sms.address().map(|address| policy.check(Destination::Operators, address)) {
        return Err(Failure::refusal(format!("sms_url: {reason}")));
    }
    let webhook = checked.settings.approval_webhook_url.as_deref();
    if let Some(Err(reason)) = webhook.map(|address| policy.check(Destination::Operators, address)) {
        return Err(Failure::refusal(format!("approval_webhook_url: {reason}")));
    }
    let secret = checked.settings.approval_webhook_secret.as_ref().map(Sensitive::expose);
    if secret.is_some_and(|secret| WebhookKey::parse(secret).is_none()) {
        return Err(Failure::refusal(format!("approval_webhook_secret: {SECRET_RULE}")));
    }
    let fetcher = Fetcher::new(policy).map_err(Failure::refusal)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy);
    let parts = Parts { checked, store, keys, mailer, sms, fetcher, clock, entropy };
    // Building the list of common passwords takes a tenth of a second: at start, not at the first password.
    tokio::task::spawn_blocking(porteiro_protocol::password::common::prepare);
    App::new(parts).map(Arc::new).map_err(Failure::refusal)
}

async fn signing_keys(store: &Store, master: Arc<MasterKey>, checked: &Checked) -> Result<Keys, Failure> {
    match checked.mode {
        Mode::Production => {
            if let Some(advice) = keys::unfit_for_production(&keys::list(store).await?) {
                return Err(Failure::refusal(advice));
            }
        }
        Mode::Development => {
            if keys::list(store).await?.iter().any(|key| key.origin == Origin::Production) {
                return Err(Failure::refusal(
                    "this database contains production signing keys, which --dev must not change; use another database",
                ));
            }
            keys::generate(store, &master, Origin::Dev).await?;
        }
    }
    Keys::load(store, master, &checked.settings).await.map_err(|error| match error {
        LoadError::Store(error) => error.into(),
        LoadError::Unusable { .. } => Failure::refusal(format!(
            "{error}; restore the master key that was in use when the key was created"
        )),
    })
}

fn print_sms(sms: &Sms) {
    say::out(&format!("--- text message to {} ---\n{}\n---", sms.to, sms.text));
}

fn print_mail(mail: &Mail) {
    say::out(&format!("--- mail to {} ---\nSubject: {}\n\n{}\n---", mail.to, mail.subject, mail.text));
}

#[cfg(all(test, feature = "screens"))]
mod tests {
    use super::*;

    #[test]
    fn mailed_links_lead_to_the_screens_unless_told_otherwise() {
        let paths = |mut settings: Settings| {
            with_own_pages(&mut settings);
            (settings.email_link_path, settings.invitation_link_path, settings.device_page_path)
        };
        let text = |text: &str| Some(text.to_owned());
        let ours = (text("/ui/link"), text("/ui/invitation"), text("/device"));
        assert_eq!(paths(Settings::default()), ours);
        let own = Settings { email_link_path: text("/mine"), ..Settings::default() };
        assert_eq!(paths(own), (text("/mine"), ours.1, ours.2));
        assert_eq!(paths(Settings { screens: false, ..Settings::default() }), (None, None, None));
    }
}
