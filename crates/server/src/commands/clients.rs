//! `porteiro clients`

use std::path::Path;

use porteiro_protocol::time::Clock;
use porteiro_service::{
    oauth::clients::{self, Profile, Trust},
    settings::Settings,
    store::Store,
};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    boot,
    cli::Clients,
    exit::Failure,
    say,
};

pub async fn run(settings: &Settings, action: Clients) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    match action {
        Clients::Create { file, trust, profile } => create(&store, &file, &trust, &profile).await,
        Clients::Show { client_id } => {
            let client = clients::find(&store, &client_id).await?.ok_or_else(|| unknown(&client_id))?;
            say::out(&format!("trust    {}\nprofile  {}", client.trust.as_str(), client.profile.as_str()));
            say::out(&serde_json::to_string_pretty(&client.metadata).unwrap_or_default());
            Ok(())
        }
        Clients::Trust { client_id, level } => {
            let level: Trust = level.parse().map_err(Failure::new)?;
            let (now, entropy) = (SystemClock.now(), &SystemEntropy);
            if !clients::set_trust_at_console(&store, now, entropy, &client_id, level).await? {
                return Err(unknown(&client_id));
            }
            say::err(&format!("{client_id} is now {}", level.as_str()));
            Ok(())
        }
        Clients::Disable { client_id } => {
            let (now, entropy) = (SystemClock.now(), &SystemEntropy);
            if !clients::disable_at_console(&store, now, entropy, &client_id).await? {
                return Err(unknown(&client_id));
            }
            say::err(&format!("{client_id} disabled; its tokens expire within minutes"));
            Ok(())
        }
    }
}

async fn create(store: &Store, file: &Path, trust: &str, profile: &str) -> Result<(), Failure> {
    let wrong = |reason: String| Failure::new(format!("{}: {reason}", file.display()));
    let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let metadata = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    let trust: Trust = trust.parse().map_err(Failure::new)?;
    let profile: Profile = profile.parse().map_err(Failure::new)?;
    let now = SystemClock.now();
    let created = clients::create_at_console(store, now, &SystemEntropy, &metadata, trust, profile)
        .await
        .map_err(|error| wrong(error.to_string()))?;
    say::out(&format!("client_id      {}", created.client_id));
    if let Some(secret) = created.secret {
        say::out(&format!("client_secret  {}", *secret.reveal()));
        say::err("The secret will not be shown again.");
    }
    Ok(())
}

fn unknown(client_id: &str) -> Failure {
    Failure::new(format!("unknown client {client_id}"))
}
