//! `porteiro jobs`

use porteiro_service::{jobs, settings::Settings};
use time::format_description::well_known::Rfc3339;

use crate::{boot, cli::Jobs, exit::Failure, say};

pub async fn run(settings: &Settings, action: Jobs) -> Result<(), Failure> {
    let store = boot::open_store(settings)?;
    match action {
        Jobs::List => {
            let parked = jobs::parked(&store).await?;
            for job in &parked {
                say::out(&format!(
                    "{}  {}  parked {}  after {} attempts: {}",
                    job.job_id,
                    job.kind,
                    job.parked_at.format(&Rfc3339).unwrap_or_default(),
                    job.attempts,
                    job.last_error.as_deref().unwrap_or("no reason recorded")
                ));
            }
            say::err(&format!("{} parked", parked.len()));
        }
        Jobs::Retry { job_id } => {
            let count = jobs::retry_parked(&store, job_id).await?;
            say::err(&format!("{count} will be retried"));
        }
    }
    Ok(())
}
