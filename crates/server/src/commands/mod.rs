//! One file per command.

mod admin;
mod api_keys;
mod apis;
mod bootstrap;
mod changing;
mod clients;
mod config;
mod doctor;
mod jobs;
mod keys;
mod migrate;
mod platform;
mod serve;

use porteiro_service::settings::{Mode, Settings};

use crate::{
    cli::{Command, Invocation},
    config::{Loaded, load},
    exit::Failure,
};

pub async fn run(invocation: Invocation) -> Result<(), Failure> {
    if let Command::Completions { shell } = invocation.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut crate::cli::command(), "porteiro", &mut script);
        crate::say::out(String::from_utf8_lossy(&script).trim_end());
        return Ok(());
    }
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let Loaded { settings, sources } =
        load(invocation.config.as_deref(), environment, &invocation.flags).map_err(Failure::refusal)?;
    if let Some((command, target)) = changing::named(&invocation.command) {
        changing::note(&database_only(settings.clone())?, command, target.as_deref()).await?;
    }
    match invocation.command {
        Command::Serve(arguments) => serve::run(settings, arguments).await,
        Command::Migrate => migrate::run(&database_only(settings)?).await,
        Command::Keys(action) => keys::run(&database_only(settings)?, action).await,
        Command::Bootstrap => bootstrap::run(&database_only(settings)?).await,
        Command::Doctor => doctor::run(settings).await,
        Command::Apis(action) => apis::run(&database_only(settings)?, action).await,
        Command::Clients(action) => clients::run(&database_only(settings)?, action).await,
        Command::ApiKeys(action) => api_keys::run(&database_only(settings)?, action).await,
        Command::Platform(action) => platform::run(&database_only(settings)?, action).await,
        Command::Jobs(action) => jobs::run(&database_only(settings)?, action).await,
        Command::Admin(arguments) => admin::run(&settings, arguments).await,
        Command::Config(action) => config::run(settings, &sources, &action),
        Command::Completions { .. } => Ok(()),
    }
}

/// Commands that only use the database require only its settings.
fn database_only(settings: Settings) -> Result<Settings, Failure> {
    let findings = settings.clone().check(Mode::Production).err().unwrap_or_default();
    match findings.iter().find(|finding| finding.setting == "database_url") {
        Some(finding) => Err(Failure::refusal(finding.to_string())),
        None => Ok(settings),
    }
}
