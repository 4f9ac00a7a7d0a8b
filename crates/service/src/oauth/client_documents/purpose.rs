//! Signing in, as what comes before an authorization whose client is not known yet. The flow shows nothing of the client
//! and leads back to the same request, which finds a person who has signed in.

use std::sync::Arc;

use porteiro_protocol::{
    assurance::Level,
    authorization_request::{AuthorizationResponse, Prompt, RawRequest, Refused},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    App,
    branding::Audience,
    flow::{
        self, Beginning, Completing, Continuation, Delivery, FlowError, Person, Purpose, Ready, Source,
        Standing, Started, Work,
        state::{Refusal, Transport},
    },
    http::RequestContext,
};

const NAME: &str = "client_document";
/// The whole target of a request may have 16 KiB.
const LONGEST_QUERY: usize = 12 * 1024;

/// A person signs in so that a client's document may be read.
#[derive(Debug)]
pub struct ClientDocumentPurpose;

/// The request that the flow leads back to.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    query: String,
}

/// Opens the flow. `None`: the request is too large to be sent again.
pub async fn sign_in_first(
    app: &Arc<App>,
    context: &RequestContext,
    raw: &RawRequest,
    client_id: &str,
) -> Result<Option<Started>, FlowError> {
    let query = raw.query_after_sign_in();
    if query.len() > LONGEST_QUERY {
        return Ok(None);
    }
    let waiting = Waiting { query };
    let continuation = Continuation::new(NAME, &waiting)?;
    let ready = Ready::new(&continuation, Box::new(waiting));
    let beginning = Beginning {
        transport: Transport::Browser,
        locales: raw.ui_locales(),
        level: Level::None,
        registers: raw.prompts(Prompt::Create),
        proves_again: false,
        silent: raw.prompts(Prompt::None),
        client_id: client_id.to_owned(),
        signed_in: None,
        vouched: None,
    };
    Box::pin(flow::start(app, context, continuation, ready, beginning)).await.map(Some)
}

impl Purpose for ClientDocumentPurpose {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare<'a>(
        &'a self,
        _app: &'a App,
        _source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn flow::Prepared>> {
        Box::pin(async move { Ok(Box::new(continuation.read::<Waiting>()?) as Box<_>) })
    }
}

impl flow::Prepared for Waiting {
    fn stand<'a>(
        &'a mut self,
        _source: Source<'a>,
        _continuation: &'a Continuation,
        _person: Option<Person>,
    ) -> Work<'a, Standing> {
        Box::pin(async { Ok(Standing::met()) })
    }

    fn is_good(&self) -> bool {
        true
    }

    fn describe(&self, _locale: &str) -> Option<Value> {
        None
    }

    fn audience(&self) -> Option<Audience<'_>> {
        None
    }

    fn size(&self) -> usize {
        self.query.len()
    }

    fn complete<'a>(
        &'a self,
        app: &'a App,
        _tx: &'a crate::store::Tx,
        _context: &'a RequestContext,
        _completing: Completing<'a>,
    ) -> Work<'a, Delivery> {
        let location = format!("{}/connect/authorize?{}", app.issuer(), self.query);
        Box::pin(async { Ok(Delivery::Browser(AuthorizationResponse::Redirect { location })) })
    }

    fn tell<'a>(&'a self, _app: &'a App, _refusal: Refusal, _refused: Refused) -> Work<'a, Option<Delivery>> {
        Box::pin(async { Ok(None) })
    }
}
