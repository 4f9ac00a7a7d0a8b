//! What the administrators of an organization learn about people whom it did not admit.

use crate::{
    App,
    audit_trail::{self, Actor, ActorKind, Outcome, Target, TrailKind},
    credentials::Rejected,
    http::RequestContext,
    limits::{self, Bucket, SSO_REJECTED},
    store::{StoreError, Tx},
};

/// Tells the organization's administrators whom it did not admit, and why. The number of entries is
/// limited, because anybody who can sign in to the directory can cause them.
pub async fn record_rejection(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    rejected: &Rejected,
    reason: &str,
) -> Result<(), StoreError> {
    let rule = SSO_REJECTED;
    let key = app.secrets.limit_key(rule.name, rejected.organization.uuid().as_bytes());
    if limits::take_in(tx, &[Bucket { rule, key }]).await?.is_some() {
        metrics::counter!("porteiro_limited_total", "rule" => rule.name).increment(1);
        return Ok(());
    }
    let actor = Actor { kind: ActorKind::System, id: rejected.connection.to_string(), act: None };
    let target = Target::new("connection", rejected.connection);
    let event = audit_trail::Event {
        outcome: Outcome::Refused,
        directory_subject: rejected.subject.clone(),
        ..audit_trail::Event::done(TrailKind::SignInRejected, actor, target)
    };
    let event = event.because(Some(reason.to_owned()));
    audit_trail::record(app, tx, context, rejected.organization, &event).await
}
