//! The flow purpose of an authorization request.

use porteiro_protocol::authorization_request::Refused;
use serde_json::Value;

use super::{
    Continued, Prepared, Stopped, Turned, decide, describe, issue, prepare, pushed, respond, standing,
};
use crate::{
    App,
    branding::Audience,
    flow::{
        self, Completing, Continuation, Delivery, Person, Purpose, Source, Standing, Work, state::Refusal,
    },
    http::RequestContext,
    store::{StoreError, Tx},
};

/// A client sent the person here, or called the challenge endpoint.
#[derive(Debug)]
pub struct AuthorizationPurpose;

impl AuthorizationPurpose {
    pub(super) const NAME: &'static str = "authorization";
}

impl Purpose for AuthorizationPurpose {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn prepare<'a>(
        &'a self,
        app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn flow::Prepared>> {
        Box::pin(async move { Ok(Box::new(Request::prepare(app, source, continuation).await?) as Box<_>) })
    }
}

/// An authorization request, read and checked.
#[derive(Debug)]
pub struct Request {
    pub continued: Continued,
    pub outcome: Result<Box<Prepared>, Stopped>,
}

impl Request {
    pub async fn prepare(
        app: &App,
        source: Source<'_>,
        continuation: &Continuation,
    ) -> Result<Self, StoreError> {
        let continued: Continued = continuation.read()?;
        let outcome = prepare(app, &source, &continued).await?;
        Ok(Self { continued, outcome })
    }

    /// The refusal and its destination; `None` where no client may receive it. An unverified client receives only the
    /// person's own denial: otherwise a request that cannot be met would redirect every person who signs in to it
    /// (decision record 0022).
    pub fn turned(&self, refusal: Refusal, refused: Refused) -> Option<Turned> {
        let turned = match &self.outcome {
            Ok(prepared) => Turned::new(prepared, refused),
            Err(Stopped::Client(turned)) => turned.as_ref().clone(),
            Err(Stopped::Page { .. }) => return None,
        };
        (refusal == Refusal::Denied || decide::may_redirect_errors(&turned.client)).then_some(turned)
    }

    /// The request, if it passed every check.
    ///
    /// # Errors
    /// If it did not: then its flow cannot complete.
    pub fn good(&self) -> Result<&Prepared, StoreError> {
        let refused = |_: &Stopped| StoreError::Inconsistent("a completion whose request was refused".into());
        self.outcome.as_deref().map_err(refused)
    }
}

impl flow::Prepared for Request {
    fn stand<'a>(
        &'a mut self,
        source: Source<'a>,
        continuation: &'a Continuation,
        person: Option<Person>,
    ) -> Work<'a, Standing> {
        Box::pin(
            async move { standing(&source, &self.continued, continuation, &mut self.outcome, person).await },
        )
    }

    fn is_good(&self) -> bool {
        self.outcome.is_ok()
    }

    fn describe(&self, locale: &str) -> Option<Value> {
        self.outcome.as_ref().ok().map(|prepared| describe(prepared, locale))
    }

    fn audience(&self) -> Option<Audience<'_>> {
        let prepared = self.outcome.as_ref().ok()?;
        Some(Audience {
            client: Some(&prepared.client),
            acting_for: prepared.member.as_ref().map(|member| &member.organization),
            named: prepared.request.organization.as_deref(),
        })
    }

    fn size(&self) -> usize {
        self.continued.request.size()
    }

    fn opened<'a>(&'a self, tx: &'a Tx, seconds: f64) -> Work<'a, ()> {
        Box::pin(async move {
            match self.continued.pushed {
                Some(pushed) => pushed::keep(tx, pushed, seconds).await,
                None => Ok(()),
            }
        })
    }

    fn complete<'a>(
        &'a self,
        app: &'a App,
        tx: &'a Tx,
        context: &'a RequestContext,
        completing: Completing<'a>,
    ) -> Work<'a, Delivery> {
        Box::pin(
            async move { issue::issue(app, tx, context, &self.continued, self.good()?, completing).await },
        )
    }

    fn tell<'a>(&'a self, app: &'a App, refusal: Refusal, refused: Refused) -> Work<'a, Option<Delivery>> {
        Box::pin(async move {
            let Some(turned) = self.turned(refusal, refused) else { return Ok(None) };
            let delivery = respond::refusal(app, &turned).await;
            delivery.map(Some).map_err(|error| StoreError::Inconsistent(error.to_string()))
        })
    }
}
