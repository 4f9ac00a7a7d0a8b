//! `porteiro clients`

use std::path::Path;

use porteiro_protocol::time::Clock;
use porteiro_service::{
    oauth::{
        clients::{self, ClientSecret, Profile, Trust},
        registration::{self, ChangeError},
    },
    settings::Settings,
    store::Store,
};
use serde_json::Value;

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
        Clients::Edit { client_id, file } => edit(&store, settings, &client_id, &file).await,
        Clients::RotateSecret { client_id } => rotate_secret(&store, &client_id).await,
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
    let wrong = |reason: String| about(file, &reason);
    let metadata = read(file)?;
    let trust: Trust = trust.parse().map_err(Failure::new)?;
    let profile: Profile = profile.parse().map_err(Failure::new)?;
    let now = SystemClock.now();
    let created = clients::create_at_console(store, now, &SystemEntropy, &metadata, trust, profile)
        .await
        .map_err(|error| wrong(error.to_string()))?;
    say::out(&format!("client_id      {}", created.client_id));
    if let Some(secret) = created.secret {
        show(&secret);
    }
    Ok(())
}

async fn edit(store: &Store, settings: &Settings, client_id: &str, file: &Path) -> Result<(), Failure> {
    let Value::Object(patch) = read(file)? else {
        return Err(about(file, "must be a JSON object"));
    };
    let (now, entropy) = (SystemClock.now(), &SystemEntropy);
    let edited = registration::edit_at_console(store, settings, now, entropy, client_id, &patch).await;
    let edited = edited.map_err(|error| match error {
        ChangeError::Unknown => unknown(client_id),
        ChangeError::Metadata(_) => about(file, &error.to_string()),
        ChangeError::NoSecret | ChangeError::Store(_) => Failure::new(error.to_string()),
    })?;
    say::err(&match edited.members.as_slice() {
        [] => format!("{client_id} is unchanged"),
        members => format!("{client_id} changed: {}", members.join(", ")),
    });
    if edited.lacks_secret {
        say::err(&format!("It has no secret yet; run: porteiro clients rotate-secret {client_id}"));
    }
    Ok(())
}

async fn rotate_secret(store: &Store, client_id: &str) -> Result<(), Failure> {
    let rotated =
        registration::rotate_secret_at_console(store, SystemClock.now(), &SystemEntropy, client_id).await;
    let secret = rotated.map_err(|error| match error {
        ChangeError::Unknown => unknown(client_id),
        ChangeError::Metadata(_) | ChangeError::NoSecret | ChangeError::Store(_) => {
            Failure::new(error.to_string())
        }
    })?;
    show(&secret);
    Ok(())
}

fn show(secret: &ClientSecret) {
    say::out(&format!("client_secret  {}", *secret.reveal()));
    say::err("The secret will not be shown again.");
}

fn read(file: &Path) -> Result<Value, Failure> {
    let text = std::fs::read(file).map_err(|error| about(file, &error.to_string()))?;
    serde_json::from_slice(&text).map_err(|error| about(file, &error.to_string()))
}

fn about(file: &Path, reason: &str) -> Failure {
    Failure::new(format!("{}: {reason}", file.display()))
}

fn unknown(client_id: &str) -> Failure {
    Failure::new(format!("unknown client {client_id}"))
}
