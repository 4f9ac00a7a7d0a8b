//! `porteiro platform`

use porteiro_protocol::{id::AccountId, permission::Permission, time::Clock};
use porteiro_service::{
    management::platform::{Change, change_at_console},
    permissions::{self, Reach},
    platform,
    settings::Settings,
    store::Store,
};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    boot,
    cli::Platform,
    exit::Failure,
    say,
};

pub async fn run(settings: &Settings, action: Platform) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    match action {
        Platform::Grant { account, permissions } => {
            for permission in &permissions {
                known(permission)?;
            }
            change(&store, account, &Change::Grant(permissions)).await
        }
        Platform::Revoke { account, permissions } => {
            change(&store, account, &Change::Revoke(permissions)).await
        }
        Platform::List => {
            for one in platform::list(&store).await? {
                let state = if one.active { "" } else { "  (inactive account)" };
                let permissions = one.permissions.join(" ");
                say::out(&format!("{}  {}{state}  {permissions}", one.account, one.display_name));
            }
            Ok(())
        }
    }
}

/// A platform permission, or all actions of a platform resource: a misspelt permission would be granted without effect.
fn known(permission: &Permission) -> Result<(), Failure> {
    let names: Vec<&str> =
        permissions::OWN.iter().filter(|own| own.reach == Reach::Platform).map(|own| own.name).collect();
    if names.iter().any(|name| Permission::parse(name).is_ok_and(|own| permission.covers(&own))) {
        return Ok(());
    }
    Err(Failure::new(format!("{permission} is not a platform permission: {}", names.join(" "))))
}

async fn change(store: &Store, account: AccountId, change: &Change) -> Result<(), Failure> {
    let held = change_at_console(store, SystemClock.now(), &SystemEntropy, account, change).await?;
    let held = held.ok_or_else(|| {
        Failure::new(format!("there is no active account {account}, or it is being deleted"))
    })?;
    let names: Vec<&str> = held.iter().map(Permission::as_str).collect();
    say::err(&format!(
        "{account} now holds: {}",
        if names.is_empty() { "nothing".into() } else { names.join(" ") }
    ));
    Ok(())
}
