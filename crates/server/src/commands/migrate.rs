//! `porteiro migrate`

use porteiro_service::{
    settings::Settings,
    store::migrations::{self, SchemaState},
};

use crate::{boot, exit::Failure, say};

pub async fn run(settings: &Settings) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    let applied = migrations::apply(&store, |step| say::out(&format!("applied {}", step.name))).await?;
    match migrations::state(&store).await? {
        SchemaState::Expected if applied == 0 => say::out("the schema was already up to date"),
        SchemaState::Expected => say::out(&format!("applied: {applied}; the schema is up to date")),
        other => return Err(Failure::refusal(other.to_string())),
    }
    Ok(())
}
