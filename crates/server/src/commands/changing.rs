//! The commands that change something: the security log records them before they run (docs/decisions/0050). A new
//! command does not compile until it is listed here.

use porteiro_protocol::time::Clock;
use porteiro_service::{security_log, settings::Settings};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    boot,
    cli::{ApiKeys, Apis, Clients, Command, Jobs, Keys, Platform},
    exit::Failure,
};

/// The command's name, and the id of its target if it has one; `None` if it only reads. Never a file, a name or a
/// secret.
pub fn named(command: &Command) -> Option<(&'static str, Option<String>)> {
    match command {
        // The schema records its own steps (`schema_migration`), and before the first step there is no log. The service
        // writes its own entries, and so do calls of the management API.
        Command::Migrate
        | Command::Serve(_)
        | Command::Admin(_)
        | Command::Doctor
        | Command::Config(_)
        | Command::Completions { .. }
        | Command::Apis(Apis::List)
        | Command::ApiKeys(ApiKeys::List)
        | Command::Platform(Platform::List)
        | Command::Jobs(Jobs::List) => None,
        Command::Bootstrap => Some(("bootstrap", None)),
        Command::Keys(action) => keys(action),
        Command::Apis(Apis::Register { .. }) => Some(("apis register", None)),
        Command::Apis(Apis::Remove { identifier }) => Some(("apis remove", Some(identifier.clone()))),
        Command::Clients(action) => clients(action),
        Command::ApiKeys(ApiKeys::Create { .. }) => Some(("api-keys create", None)),
        Command::ApiKeys(ApiKeys::Revoke { id }) => Some(("api-keys revoke", Some(id.clone()))),
        Command::Platform(Platform::Grant { account, .. }) => {
            Some(("platform grant", Some(account.to_string())))
        }
        Command::Platform(Platform::Revoke { account, .. }) => {
            Some(("platform revoke", Some(account.to_string())))
        }
        Command::Jobs(Jobs::Retry { job_id }) => Some(("jobs retry", job_id.map(|id| id.to_string()))),
    }
}

fn keys(action: &Keys) -> Option<(&'static str, Option<String>)> {
    match action {
        Keys::List => None,
        Keys::Generate { replace_dev_keys: false, .. } => Some(("keys generate", None)),
        Keys::Generate { replace_dev_keys: true, .. } => Some(("keys generate --replace-dev-keys", None)),
        Keys::Rotate { algorithm, now } => {
            let command = if *now { "keys rotate --now" } else { "keys rotate" };
            Some((command, algorithm.map(|one| one.to_string())))
        }
        Keys::Retire { kid, now } => {
            Some((if *now { "keys retire --now" } else { "keys retire" }, Some(kid.clone())))
        }
    }
}

fn clients(action: &Clients) -> Option<(&'static str, Option<String>)> {
    match action {
        Clients::Show { .. } => None,
        Clients::Create { .. } => Some(("clients create", None)),
        Clients::Trust { client_id, .. } => Some(("clients trust", Some(client_id.clone()))),
        Clients::Edit { client_id, .. } => Some(("clients edit", Some(client_id.clone()))),
        Clients::RotateSecret { client_id } => Some(("clients rotate-secret", Some(client_id.clone()))),
        Clients::Disable { client_id } => Some(("clients disable", Some(client_id.clone()))),
    }
}

pub async fn note(settings: &Settings, command: &str, target: Option<&str>) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    // An id is short; any other input does not belong in the log.
    let target = target.filter(|target| target.len() <= 200);
    Ok(security_log::command_at_console(&store, SystemClock.now(), &SystemEntropy, command, target).await?)
}
