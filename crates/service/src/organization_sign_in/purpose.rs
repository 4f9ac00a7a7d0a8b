//! The flow purpose of signing in to an organization.

use porteiro_protocol::{authorization_request::Refused, error::ErrorCode, id::OrganizationId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    App,
    branding::Audience,
    connections::Recency,
    flow::{
        self, Completing, Continuation, Delivery, Entered, Entering, Person, Purpose, Source, Standing, Work,
        state::Refusal,
    },
    http::RequestContext,
    members::{self, Member, Whom},
    organizations::{self, Name, Organization, Status},
    store::{StoreError, Tx},
};

/// A person signs in to an organization.
#[derive(Debug)]
pub struct OrganizationPurpose;

impl OrganizationPurpose {
    pub(super) const NAME: &'static str = "organization_sign_in";
}

impl Purpose for OrganizationPurpose {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn prepare<'a>(
        &'a self,
        _app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn flow::Prepared>> {
        Box::pin(async move { Ok(Box::new(Request::read(source, continuation.read()?).await?) as Box<_>) })
    }

    fn enter<'a>(&'a self, entering: Entering<'a>) -> Option<Entered<'a>> {
        Some(Box::pin(super::enter(entering)))
    }
}

/// The organization as it was named.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Named {
    pub(super) named: String,
}

/// The named organization, and the member once they are known.
#[derive(Debug)]
pub(super) struct Request {
    named: Named,
    /// None: it does not exist, or is suspended. Nobody can tell which.
    place: Option<Organization>,
    member: Option<Member>,
}

impl Request {
    pub(super) async fn read(source: Source<'_>, named: Named) -> Result<Self, StoreError> {
        let place = organizations::find_named(&source, &Name::parse(&named.named)).await?;
        let place = place.filter(|place| place.status == Status::Enabled);
        Ok(Self { named, place, member: None })
    }

    pub(super) fn organization(&self) -> Option<OrganizationId> {
        self.place.as_ref().map(|place| place.id)
    }

    /// The active member that the person is.
    async fn find(&self, source: Source<'_>, person: Person) -> Result<Option<Member>, StoreError> {
        let Some(place) = self.organization() else { return Ok(None) };
        let member = members::find(&source, place, Whom::Account(person.account)).await?;
        Ok(member.filter(|member| member.held().is_ok()))
    }
}

/// What a member must meet.
fn required(member: &Member) -> Standing {
    let policy = &member.organization.policy;
    Standing {
        organization: Some(member.organization.id),
        level: policy.min_level,
        max_age: policy.max_age,
        door: member.door(),
        recency: Recency { login: false, max_age: policy.max_age },
        ..Standing::met()
    }
}

fn refused() -> Refused {
    Refused { code: ErrorCode::AccessDenied, description: "the organization is not available".into() }
}

/// The same for every reason.
pub(super) fn unavailable() -> Delivery {
    Delivery::Elsewhere(json!({"type": "organization", "outcome": "unavailable"}))
}

impl flow::Prepared for Request {
    fn stand<'a>(
        &'a mut self,
        source: Source<'a>,
        _continuation: &'a Continuation,
        person: Option<Person>,
    ) -> Work<'a, Standing> {
        Box::pin(async move {
            self.member = None;
            let Some(person) = person else {
                return Ok(Standing { organization: self.organization(), ..Standing::met() });
            };
            let Some(member) = self.find(source, person).await? else {
                return Ok(Standing::refused(refused()));
            };
            let standing = required(&member);
            self.member = Some(member);
            Ok(standing)
        })
    }

    fn is_good(&self) -> bool {
        true
    }

    fn describe(&self, _locale: &str) -> Option<Value> {
        None
    }

    fn audience(&self) -> Option<Audience<'_>> {
        let acting_for = self.member.as_ref().map(|member| &member.organization);
        Some(Audience { client: None, acting_for, named: Some(&self.named.named) })
    }

    fn complete<'a>(
        &'a self,
        _app: &'a App,
        _tx: &'a Tx,
        _context: &'a RequestContext,
        completing: Completing<'a>,
    ) -> Work<'a, Delivery> {
        Box::pin(async move {
            let member = self.member.as_ref();
            let member =
                member.ok_or_else(|| StoreError::Inconsistent("a completion of no member".into()))?;
            let Organization { id, slug, name, .. } = &member.organization;
            Ok(Delivery::Elsewhere(json!({
                "type": "organization",
                "outcome": "entered",
                "organization": {"id": id, "slug": slug, "name": name},
                "confined": completing.authentication.confined_to.is_some(),
            })))
        })
    }

    fn tell<'a>(&'a self, _app: &'a App, refusal: Refusal, _refused: Refused) -> Work<'a, Option<Delivery>> {
        Box::pin(async move { Ok((refusal == Refusal::RequestRefused).then(unavailable)) })
    }
}
