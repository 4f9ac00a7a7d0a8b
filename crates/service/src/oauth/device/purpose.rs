//! The flow purpose of confirming a device: an authorization whose response waits for the device.

use porteiro_protocol::{
    authorization_request::Refused, error::ErrorCode, id::AccountId, user_code::UserCode,
};
use serde_json::{Value, json};

use super::{NOTICED_SECONDS, State, look, refuse, store};
use crate::{
    App,
    branding::Audience,
    credentials::{Action, Definition, field},
    flow::{
        self, Authentication, Completing, Continuation, Delivery, Opening, Person, Purpose, Source, Standing,
        Work, happening,
        state::{Refusal, Stage},
        tell,
    },
    http::RequestContext,
    limits::{DEVICE_CODE_ADDRESS, DEVICE_CODE_ALL, DEVICE_CODE_SUBJECT},
    mail::templates::{self, Happening},
    oauth::{
        authorization::{Asking, Code, Prepared, Request, admit, write_grant},
        grants::GrantId,
    },
    store::{StoreError, Tx},
};

/// A person confirms a device.
#[derive(Debug)]
pub struct DevicePurpose;

impl DevicePurpose {
    pub(super) const NAME: &'static str = "confirm_device";
}

const LOOK: Action = Action::new(&Definition {
    path: "device/look",
    rank: 210,
    fields: &[field("user_code", "text", "off")],
    limits: &[DEVICE_CODE_ADDRESS, DEVICE_CODE_SUBJECT, DEVICE_CODE_ALL],
});

static OPENING: Opening = Opening {
    stage: Stage::Device,
    actions: &[(LOOK, |step, input| Box::pin(look::look(step, input)))],
    // Displayed for comparison, not looked up.
    brought: |request| request.user_code.as_deref().and_then(UserCode::parse).map(|code| code.to_string()),
    shown_as: "user_code",
};

impl Purpose for DevicePurpose {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn prepare<'a>(
        &'a self,
        app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn flow::Prepared>> {
        Box::pin(async move {
            let request = Request::prepare(app, source, continuation).await?;
            let asking = asking(&request)?;
            Ok(Box::new(DeviceRequest { request, asking }) as Box<_>)
        })
    }

    fn opening(&self) -> Option<&'static Opening> {
        Some(&OPENING)
    }

    fn claim<'a>(&'a self, tx: &'a Tx, continuation: &'a Continuation, account: AccountId) -> Work<'a, bool> {
        Box::pin(async move {
            let continued: super::Continued = continuation.read()?;
            match continued.device {
                Some(asking) => store::claim(tx, asking.id, account).await,
                None => Ok(false),
            }
        })
    }
}

fn asking(request: &Request) -> Result<Asking, StoreError> {
    let asking = request.continued.device.clone();
    asking.ok_or_else(|| StoreError::Inconsistent("a device flow without its device".into()))
}

#[derive(Debug)]
struct DeviceRequest {
    request: Request,
    asking: Asking,
}

/// The result of a person's decision about a device.
enum Decided {
    Now,
    /// The person approved it before, in another window.
    Before,
    Not(ErrorCode),
}

impl Decided {
    /// The device learns of it when it polls; the person sees it at once.
    fn delivery(&self) -> Delivery {
        Delivery::Elsewhere(match self {
            Self::Now | Self::Before => json!({"type": "device", "outcome": "approved"}),
            Self::Not(error) => json!({"type": "device", "outcome": "refused", "error": error.as_str()}),
        })
    }
}

impl flow::Prepared for DeviceRequest {
    fn stand<'a>(
        &'a mut self,
        source: Source<'a>,
        continuation: &'a Continuation,
        person: Option<Person>,
    ) -> Work<'a, Standing> {
        self.request.stand(source, continuation, person)
    }

    fn is_good(&self) -> bool {
        self.request.is_good()
    }

    fn describe(&self, locale: &str) -> Option<Value> {
        self.request.describe(locale)
    }

    fn audience(&self) -> Option<Audience<'_>> {
        self.request.audience()
    }

    fn complete<'a>(
        &'a self,
        app: &'a App,
        tx: &'a Tx,
        context: &'a RequestContext,
        completing: Completing<'a>,
    ) -> Work<'a, Delivery> {
        Box::pin(async move {
            let decided = self.approve(app, tx, context, completing).await?;
            let account = completing.authentication.account;
            match decided {
                Decided::Now => self.notify(app, tx, account, completing.locale).await?,
                Decided::Before | Decided::Not(ErrorCode::ExpiredToken) => {}
                // An approval that turned out to be impossible counts as denial.
                Decided::Not(_) => refuse(app, tx, context, self.asking.id, account).await?,
            }
            Ok(decided.delivery())
        })
    }

    fn tell<'a>(&'a self, _app: &'a App, refusal: Refusal, refused: Refused) -> Work<'a, Option<Delivery>> {
        let turned = self.request.turned(refusal, refused);
        Box::pin(async move { Ok(turned.map(|turned| Decided::Not(turned.refused.code).delivery())) })
    }

    fn withdraw<'a>(
        &'a self,
        app: &'a App,
        tx: &'a Tx,
        context: &'a RequestContext,
        account: AccountId,
    ) -> Work<'a, ()> {
        Box::pin(refuse(app, tx, context, self.asking.id, account))
    }

    fn release<'a>(&'a self, tx: &'a Tx, account: AccountId) -> Work<'a, ()> {
        Box::pin(store::release(tx, self.asking.id, account))
    }
}

impl DeviceRequest {
    /// Writes the grant. Its code is the device code, which is its own verifier.
    async fn approve(
        &self,
        app: &App,
        tx: &Tx,
        context: &RequestContext,
        completing: Completing<'_>,
    ) -> Result<Decided, StoreError> {
        let (prepared, authentication) = (self.request.good()?, completing.authentication);
        let admitted = match admit(app, tx, &self.request.continued, prepared, authentication).await? {
            Ok(admitted) => admitted,
            Err(refused) => return Ok(Decided::Not(refused.code)),
        };
        let code = code(app, prepared);
        if !store::approve(tx, self.asking.id, authentication.account, code.grant).await? {
            return self.decided_before(tx, authentication).await;
        }
        let consented = completing.continuation.consented.is_some();
        write_grant(app, tx, context, prepared, authentication, &admitted, &code, consented).await?;
        Ok(Decided::Now)
    }

    /// Expired, or decided in another window: the earlier decision stands.
    async fn decided_before(
        &self,
        tx: &Tx,
        authentication: &Authentication<'_>,
    ) -> Result<Decided, StoreError> {
        Ok(match store::outcome(tx, self.asking.id, authentication.account).await? {
            Some(State::Approved) => Decided::Before,
            Some(State::Denied) => Decided::Not(ErrorCode::AccessDenied),
            Some(State::Pending) | None => Decided::Not(ErrorCode::ExpiredToken),
        })
    }

    /// Notifies the person, who may have been tricked into entering an attacker's code, and says how to revoke
    /// access.
    async fn notify(&self, app: &App, tx: &Tx, account: AccountId, locale: &str) -> Result<(), StoreError> {
        let client = &self.request.good()?.client;
        let client = client.metadata.client_name.as_deref().unwrap_or(&client.id);
        // The device's own name is untrusted and is not repeated.
        let what = Happening { place: Some(&self.asking.address), ..happening(app, None) };
        tell(app, tx, account, locale, |locale| templates::device_connected(locale, client, &what)).await
    }
}

fn code(app: &App, prepared: &Prepared) -> Code {
    let grant: GrantId = porteiro_protocol::id::Id::ordered(app.clock.now(), &*app.entropy);
    Code { grant, hash: *prepared.request.code_challenge.as_bytes(), seconds: NOTICED_SECONDS }
}
