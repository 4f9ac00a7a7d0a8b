//! Looks the records of verified domains up again, every day.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};

use super::{Domain, decide, store};
use crate::{
    App,
    audit_trail::{self, Actor, Target, TrailKind},
    dns::Seen,
    jobs::{JobError, JobKind},
    store::StoreError,
};

const BATCH: i64 = 64;
/// An attempt may take a minute. What is left waits for the next one.
const LONGEST: Duration = Duration::from_secs(40);

pub const CHECKING: JobKind<App> =
    JobKind::new("domains.check", |app, _| Box::pin(check_due(app))).every(|_| 600);

async fn check_due(app: Arc<App>) -> Result<(), JobError> {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST {
        let due = app.store.run_tx("domains.due", async |tx| store::due(&tx, BATCH).await).await?;
        if due.is_empty() {
            return Ok(());
        }
        let mut checks = JoinSet::new();
        for domain in due {
            let app = Arc::clone(&app);
            checks.spawn(async move { check(&app, &domain).await });
        }
        for checked in checks.join_all().await {
            checked?;
        }
    }
    Ok(())
}

async fn check(app: &App, domain: &Domain) -> Result<(), StoreError> {
    let present = match app.dns.sees(&decide::host(&domain.name), &domain.value).await {
        Seen::Present => true,
        Seen::Absent | Seen::Partly | Seen::Faulty => false,
        // Says nothing about the domain.
        Seen::Unknown | Seen::Unconfigured => return Ok(()),
    };
    app.store
        .run_tx("domains.note", async |tx| {
            store::note(&tx, domain, present).await?;
            if present || !store::lapse(&tx, domain).await? {
                return Ok(());
            }
            let target = Target::new("domain", &domain.name);
            let event = audit_trail::Event::done(TrailKind::DomainLapsed, Actor::system(), target)
                .because(Some("its record was missing for seven days".into()));
            audit_trail::record_unasked(&*app.entropy, &tx, domain.organization, &event).await
        })
        .await
}
