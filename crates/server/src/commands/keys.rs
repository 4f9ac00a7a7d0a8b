//! `porteiro keys`

use std::{io::Write, os::unix::fs::OpenOptionsExt, path::Path};

use porteiro_protocol::jose::Algorithm;
use porteiro_service::{
    oauth::keys::{self, Origin, Rotation},
    secrets::MasterKey,
    settings::{Mode, Settings},
    store::Store,
};

use crate::{ambient::SystemEntropy, boot, cli::Keys, exit::Failure, say};

pub async fn run(settings: &Settings, action: Keys) -> Result<(), Failure> {
    let how = |now| if now { Rotation::Now } else { Rotation::WhenDue };
    match action {
        Keys::Generate { create_master_key, replace_dev_keys } => {
            if create_master_key {
                create_master_key_file(settings.master_key_file.as_deref())?;
            }
            generate(settings, replace_dev_keys).await
        }
        Keys::List => list(&boot::open_store(settings)?).await,
        Keys::Rotate { algorithm, now } => {
            let master = boot::master_key(settings.master_key_file.as_deref(), Mode::Production)?;
            let store = boot::open_store(settings)?;
            for algorithm in algorithm.map_or_else(|| Algorithm::ALL.to_vec(), |one| vec![one]) {
                keys::rotate(&store, &master, settings, algorithm, how(now)).await?;
                say::err(&format!("{algorithm} rotated"));
            }
            list(&store).await
        }
        Keys::Retire { kid, now } => {
            keys::retire(&boot::open_store(settings)?, settings, &kid, how(now)).await?;
            say::err(&format!("{kid} retired: unpublished, private key erased"));
            Ok(())
        }
    }
}

async fn generate(settings: &Settings, replace_dev_keys: bool) -> Result<(), Failure> {
    let master = boot::master_key(settings.master_key_file.as_deref(), Mode::Production)?;
    let store = boot::open_store(settings)?;
    if replace_dev_keys {
        say::err(&format!("{} keys of --dev erased", keys::erase_dev_keys(&store).await?));
    }
    if keys::list(&store).await?.iter().any(|key| key.origin == Origin::Dev) {
        return Err(Failure::refusal(
            "this database contains temporary keys of --dev; to erase them run: porteiro keys generate --replace-dev-keys",
        ));
    }
    let made = keys::generate(&store, &master, Origin::Production).await?;
    say::err(&format!("{made} keys created"));
    list(&store).await
}

/// Never overwrites: without the old master key the stored signing keys are lost.
fn create_master_key_file(file: Option<&Path>) -> Result<(), Failure> {
    let file = file.ok_or_else(|| {
        Failure::refusal(
            "master_key_file: is not set; set it, such as --master-key-file /etc/porteiro/master.key",
        )
    })?;
    if file.exists() {
        say::err(&format!("{} already exists and was not changed", file.display()));
        return Ok(());
    }
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", file.display()));
    let mut open = std::fs::OpenOptions::new();
    let mut handle = open.write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    handle.write_all(MasterKey::generate_text(&SystemEntropy).as_bytes()).map_err(failed)?;
    handle.sync_all().map_err(failed)?;
    say::err(&format!(
        "{} created. Keep a copy apart from the database's backups: neither can be used without the other.",
        file.display()
    ));
    Ok(())
}

async fn list(store: &Store) -> Result<(), Failure> {
    for key in keys::list(store).await? {
        say::out(&format!(
            "{:5}  {:8}  {:10}  {}  {} s in this state",
            key.algorithm.as_str(),
            key.state.as_str(),
            key.origin.as_str(),
            key.public.kid,
            key.in_state_seconds
        ));
    }
    Ok(())
}
