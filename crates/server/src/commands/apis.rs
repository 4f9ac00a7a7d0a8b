//! `porteiro apis`

use std::path::Path;

use porteiro_protocol::time::Clock;
use porteiro_service::{
    oauth::apis::{self, Api},
    settings::{Mode, Settings},
};

use crate::{
    ambient::{SystemClock, SystemEntropy},
    boot,
    cli::Apis,
    exit::Failure,
    say,
};

pub async fn run(settings: &Settings, action: Apis) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    match action {
        Apis::Register { file } => {
            let api = read(&file, &issuer(settings))?;
            apis::register_at_console(&store, SystemClock.now(), &SystemEntropy, &api).await?;
            say::err(&format!("{} registered with {} scopes", api.identifier, api.scopes.len()));
        }
        Apis::List => {
            for api in apis::list(&store).await? {
                let scopes: Vec<&str> = api.scopes.iter().map(|scope| scope.name.as_str()).collect();
                say::out(&format!(
                    "{}  {}  {} s  {}  {}",
                    api.identifier,
                    api.algorithm,
                    api.token_seconds,
                    api.name,
                    scopes.join(" ")
                ));
            }
        }
        Apis::Remove { identifier } => {
            if !apis::remove_at_console(&store, SystemClock.now(), &SystemEntropy, &identifier).await? {
                return Err(Failure::new(format!("unknown API {identifier}; see: porteiro apis list")));
            }
            say::err(&format!("{identifier} removed; tokens for it expire within minutes"));
        }
    }
    Ok(())
}

/// The address of the service; without `base_url`, that of `serve --dev`.
fn issuer(settings: &Settings) -> String {
    let settings = settings.clone();
    let named = if settings.base_url.is_empty() { settings.for_mode(Mode::Development) } else { settings };
    named.base_url.trim_end_matches('/').to_owned()
}

fn read(file: &Path, issuer: &str) -> Result<Api, Failure> {
    let wrong = |reason: String| Failure::new(format!("{}: {reason}", file.display()));
    let text = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let api: Api = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    api.check(issuer).map_err(wrong)?;
    Ok(api)
}
