//! A platform administrator or platform key acts in an organization: `organizations:administer`.

use axum::http::request::Parts;
use porteiro_protocol::{
    assurance::Level,
    id::OrganizationId,
    permission::{Held, Permission},
};

use super::{
    super::caller::{By, Caller},
    admit::Guard,
    turned::Turned,
};
use crate::{
    App,
    api::REASON,
    audit_trail::{self, Actor, Target, TrailKind},
    http::{OAuthError, Problem, ProblemCode, RequestContext},
    oauth::access_token::Spoken,
    organizations,
};

/// Administering an organization needs a second factor that was proved in the last five minutes.
const ADMINISTER_SECONDS: i64 = 300;

pub fn administer() -> Permission {
    Permission::parse("organizations:administer").unwrap_or_else(|_| unreachable!("it is a permission"))
}

pub(super) fn reason(parts: &Parts) -> Option<String> {
    let text = parts.headers.get(REASON)?.to_str().ok()?.trim();
    (!text.is_empty() && text.len() <= 500).then(|| text.to_owned())
}

pub(super) fn recently_proved(app: &App, spoken: &Spoken) -> Result<(), Turned> {
    let age = app.clock.now().unix_timestamp() - spoken.claims.auth_time.unwrap_or_default();
    if spoken.claims.proved_level() < Level::Aal2 || age > ADMINISTER_SECONDS {
        return Err(OAuthError::step_up(ADMINISTER_SECONDS).into());
    }
    Ok(())
}

/// The platform as caller in an organization. The audit trail records it before the operation runs.
pub(super) async fn administering(
    guard: &Guard,
    context: &RequestContext,
    parts: &Parts,
    place: OrganizationId,
    held: Held,
    by: By,
    actor: Actor,
) -> Result<Caller, Turned> {
    let app = &guard.app;
    if !held.covers(&administer()) {
        return Err(ProblemCode::NotFound.into());
    }
    let organization = organizations::find(&app.store, place).await?.ok_or(ProblemCode::NotFound)?;
    let reason = reason(parts).ok_or_else(|| {
        let text = format!(
            "give a reason of at most 500 characters in the header {REASON}; the organization can read it"
        );
        Problem::new(ProblemCode::ReasonRequired, text)
    })?;
    let what = format!("{} {}", parts.method, parts.uri.path());
    let event = audit_trail::Event::done(
        TrailKind::PlatformAdministered,
        actor.clone(),
        Target::new("request", what),
    )
    .because(Some(reason.clone()));
    let event = &event;
    app.store
        .run_tx("management.administer", |tx| async move {
            audit_trail::record(app, &tx, context, place, event).await
        })
        .await?;
    // The platform has an owner's permissions here, without the reserved ones.
    Ok(Caller {
        by,
        actor,
        organization: Some(organization),
        held: Held::everything(),
        reason: Some(reason),
        token: None,
        proved: None,
    })
}
