//! `porteiro api-keys`

use porteiro_protocol::time::Clock;
use porteiro_service::{
    api_keys::{self, Key, KeyKind, NewKeyRequest, Whose},
    settings::Settings,
    store::Store,
};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    boot,
    cli::ApiKeys,
    exit::Failure,
    say,
};

/// More than the largest number of platform keys.
const ALL: i64 = 10_000;

pub async fn run(settings: &Settings, action: ApiKeys) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    match action {
        ApiKeys::Create { name, permissions, days, networks } => {
            let (expires_in_days, allowed_networks) = (Some(days), networks);
            create(&store, &NewKeyRequest { name, permissions, expires_in_days, allowed_networks }).await
        }
        ApiKeys::List => {
            for key in api_keys::list(&store, Whose::Platform, None, ALL).await? {
                say::out(&line(&key));
            }
            Ok(())
        }
        ApiKeys::Revoke { id } => {
            if !api_keys::revoke_at_console(&store, SystemClock.now(), &SystemEntropy, &id).await? {
                return Err(Failure::new(format!(
                    "unknown platform API key {id}; see: porteiro api-keys list"
                )));
            }
            say::err(&format!("{id} revoked"));
            Ok(())
        }
    }
}

async fn create(store: &Store, request: &NewKeyRequest) -> Result<(), Failure> {
    let wanted = api_keys::wanted(KeyKind::Platform, request).map_err(Failure::new)?;
    let made = api_keys::make_at_console(store, SystemClock.now(), &SystemEntropy, &wanted).await?;
    say::out(&made.secret.reveal());
    say::err(&format!("Valid until {}. It will not be shown again.", made.key.expires_at.date()));
    Ok(())
}

fn line(key: &Key) -> String {
    let state = match key.revoked_at {
        Some(at) => format!("revoked {}", at.date()),
        None => format!("until {}", key.expires_at.date()),
    };
    let permissions: Vec<&str> =
        key.permissions.iter().map(porteiro_protocol::permission::Permission::as_str).collect();
    format!("{}  {state}  {}  {}", key.id, key.name, permissions.join(" "))
}
