//! `porteiro bootstrap`

use porteiro_service::{bootstrap, settings::Settings};
use time::format_description::well_known::Rfc3339;

use crate::{ambient::SystemEntropy, boot, exit::Failure, say};

pub async fn run(settings: &Settings) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    let at = |when: time::OffsetDateTime| when.format(&Rfc3339).unwrap_or_default();
    match bootstrap::arm(&store, &SystemEntropy).await? {
        bootstrap::Armed::Key { key, expires_at } => {
            say::err(&format!("Valid for one use until {}. It will not be shown again.", at(expires_at)));
            say::out(&key.reveal());
            Ok(())
        }
        bootstrap::Armed::StillGood { expires_at } => Err(Failure::new(format!(
            "a key was already created and is valid until {}; use it, or wait and create another",
            at(expires_at)
        ))),
        bootstrap::Armed::Spent => Err(Failure::new(
            "the first administrator exists, so this command does not create another key; ask an administrator",
        )),
    }
}
