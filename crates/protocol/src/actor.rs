//! The actors of a token (RFC 8693 §4.1): a chain, outermost first. The outermost actor acts now; the inner ones
//! acted before and are recorded only.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// Maximum length of a chain.
pub const MAX_ACTORS: usize = 4;

/// What kind of party acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A client that acts for a person on its own decision.
    Agent,
    /// A client that acts for a person as one step of a service.
    Service,
    /// A platform administrator who impersonates a member, read-only.
    Staff,
}

impl ActorKind {
    pub const ALL: [Self; 3] = [Self::Agent, Self::Service, Self::Staff];

    /// The value of `sub_profile`. `Staff` has none: its tokens are older than this claim.
    #[must_use]
    pub const fn profile(self) -> Option<&'static str> {
        match self {
            Self::Agent => Some("ai_agent"),
            Self::Service => Some("service"),
            Self::Staff => None,
        }
    }

    fn of_profile(profile: Option<&str>) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.profile() == profile)
    }
}

/// One actor of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    pub kind: ActorKind,
    pub id: String,
}

/// At least one actor, at most [`MAX_ACTORS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActorChain {
    outermost: Actor,
    inner: Vec<Actor>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more than {MAX_ACTORS} actors")]
pub struct TooDeep;

impl ActorChain {
    #[must_use]
    pub const fn of(actor: Actor) -> Self {
        Self { outermost: actor, inner: Vec::new() }
    }

    /// A platform administrator who impersonates the subject.
    #[must_use]
    pub const fn staff(id: String) -> Self {
        Self::of(Actor { kind: ActorKind::Staff, id })
    }

    /// The actor that acts now.
    #[must_use]
    pub const fn outermost(&self) -> &Actor {
        &self.outermost
    }

    pub fn iter(&self) -> impl Iterator<Item = &Actor> {
        std::iter::once(&self.outermost).chain(&self.inner)
    }

    /// The chain with one more actor outside. Actors are never removed from a chain.
    ///
    /// # Errors
    /// When the chain has reached [`MAX_ACTORS`].
    pub fn extended(&self, actor: Actor) -> Result<Self, TooDeep> {
        let inner: Vec<Actor> = self.iter().cloned().collect();
        if inner.len() >= MAX_ACTORS { Err(TooDeep) } else { Ok(Self { outermost: actor, inner }) }
    }

    /// The platform administrator who impersonates the subject, at any position: delegation does not end an
    /// impersonation.
    #[must_use]
    pub fn impersonator(&self) -> Option<&str> {
        self.iter().find(|actor| actor.kind == ActorKind::Staff).map(|actor| actor.id.as_str())
    }

    fn from_outermost(actors: Vec<Actor>) -> Option<Self> {
        let mut actors = actors.into_iter();
        let outermost = actors.next()?;
        let inner: Vec<Actor> = actors.collect();
        (inner.len() < MAX_ACTORS).then_some(Self { outermost, inner })
    }

    /// Reads an `act` claim; `None` for a form that this service does not write.
    #[must_use]
    pub fn read(claim: &Value) -> Option<Self> {
        let (mut actors, mut next) = (Vec::new(), Some(claim));
        while let Some(link) = next {
            if actors.len() == MAX_ACTORS {
                return None;
            }
            let profile = match link.get("sub_profile") {
                None => None,
                Some(profile) => Some(profile.as_str()?),
            };
            let id = link.get("sub")?.as_str()?.to_owned();
            actors.push(Actor { kind: ActorKind::of_profile(profile)?, id });
            next = link.get("act");
        }
        Self::from_outermost(actors)
    }

    /// The `act` claim.
    #[must_use]
    pub fn claim(&self) -> Value {
        let mut inside = None;
        for actor in std::iter::once(&self.outermost).chain(&self.inner).rev() {
            let mut link = serde_json::Map::new();
            link.insert("sub".into(), actor.id.clone().into());
            if let Some(profile) = actor.kind.profile() {
                link.insert("sub_profile".into(), profile.into());
            }
            if let Some(inside) = inside {
                link.insert("act".into(), inside);
            }
            inside = Some(Value::Object(link));
        }
        inside.unwrap_or(Value::Null)
    }
}

/// The form in records: a platform administrator alone is a plain id, as in records older than chains; every other
/// chain is written as its claim.
impl Serialize for ActorChain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.outermost.kind, self.inner.as_slice()) {
            (ActorKind::Staff, []) => serializer.serialize_str(&self.outermost.id),
            (ActorKind::Staff | ActorKind::Agent | ActorKind::Service, _) => {
                self.claim().serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ActorChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(id) => Ok(Self::staff(id)),
            claim => Self::read(&claim).ok_or_else(|| de::Error::custom("not a chain of actors")),
        }
    }
}

/// The schema of records today, in which the only actor is a platform administrator.
impl schemars::JsonSchema for ActorChain {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ActorChain".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Record {
        #[serde(skip_serializing_if = "Option::is_none")]
        actor: Option<ActorChain>,
    }

    fn actor() -> impl Strategy<Value = Actor> {
        (prop::sample::select(ActorKind::ALL.to_vec()), "[a-z]{1,4}")
            .prop_map(|(kind, id)| Actor { kind, id })
    }

    fn chain() -> impl Strategy<Value = ActorChain> {
        prop::collection::vec(actor(), 1..=MAX_ACTORS)
            .prop_map(|actors| ActorChain::from_outermost(actors).unwrap())
    }

    #[test]
    fn staff_alone_is_written_as_it_always_was() {
        let staff = ActorChain::staff("someone".into());
        assert_eq!(staff.claim().to_string(), r#"{"sub":"someone"}"#);
        let record = Record { actor: Some(staff.clone()) };
        assert_eq!(serde_json::to_string(&record).unwrap(), r#"{"actor":"someone"}"#);
        assert_eq!(serde_json::to_string(&Record { actor: None }).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Record>(r#"{"actor":"someone"}"#).unwrap(), record);
        assert_eq!(serde_json::from_str::<Record>("{}").unwrap(), Record { actor: None });
    }

    #[test]
    fn an_agent_behind_a_service_is_nested() {
        let service = Actor { kind: ActorKind::Service, id: "s".into() };
        let chain = ActorChain::of(service).extended(Actor { kind: ActorKind::Agent, id: "a".into() });
        let written =
            json!({"sub": "a", "sub_profile": "ai_agent", "act": {"sub": "s", "sub_profile": "service"}});
        assert_eq!(chain.unwrap().claim(), written);
    }

    #[test]
    fn what_is_no_chain_of_ours_is_refused() {
        let five = (0..5).fold(Value::Null, |inside, _| match inside {
            Value::Null => json!({"sub": "x"}),
            inside => json!({"sub": "x", "act": inside}),
        });
        for wrong in [
            json!(null),
            json!("x"),
            json!([]),
            json!({}),
            json!({"sub": 1}),
            json!({"sub": "x", "sub_profile": "robot"}),
            json!({"sub": "x", "sub_profile": null}),
            json!({"sub": "x", "act": null}),
            json!({"sub": "x", "act": {"sub": 1}}),
            five,
        ] {
            assert_eq!(ActorChain::read(&wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_reads_back(chain in chain()) {
            prop_assert_eq!(ActorChain::read(&chain.claim()), Some(chain.clone()));
            let record = Record { actor: Some(chain) };
            let text = serde_json::to_string(&record).unwrap();
            prop_assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
        }

        #[test]
        fn a_chain_only_grows_and_never_beyond_its_bound(chain in chain(), next in actor()) {
            if let Ok(longer) = chain.extended(next.clone()) {
                prop_assert_eq!(longer.outermost(), &next);
                prop_assert!(longer.iter().skip(1).eq(chain.iter()));
                prop_assert!(longer.iter().count() <= MAX_ACTORS);
                prop_assert!(chain.impersonator().is_none() || longer.impersonator().is_some());
            } else {
                prop_assert_eq!(chain.iter().count(), MAX_ACTORS);
            }
        }
    }
}
