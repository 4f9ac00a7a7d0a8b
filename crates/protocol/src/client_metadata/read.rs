//! One reader per kind of member.

use serde_json::Value;

use super::{ApplicationType, ClientKind, DeliveryMode, Member, MetadataError, invalid};
use crate::{
    error::ErrorCode,
    jose::Algorithm,
    plain_text::is_plain,
    redirect_uri::{RedirectUri, is_uri_text},
    scope::Scope,
};

pub(super) const MAX_TEXT: usize = 2000;
const MAX_REDIRECT_URIS: usize = 10;
const MAX_LIST: usize = 20;

type Read<T> = Result<T, MetadataError>;

impl Member<'_> {
    pub(super) fn refused(self, rule: &str) -> MetadataError {
        invalid(format!("{} {rule}", self.name))
    }

    fn bounded(self, value: &Value) -> Read<&str> {
        let text = value.as_str().ok_or_else(|| self.refused("must be a string or an array of strings"))?;
        if text.is_empty() || text.len() > MAX_TEXT {
            return Err(self.refused("must have 1 to 2000 bytes"));
        }
        if !is_plain(text) {
            return Err(self.refused("must not contain control characters"));
        }
        Ok(text)
    }
}

pub(super) fn text(member: Member<'_>) -> Read<Option<String>> {
    member.value.map(|value| member.bounded(value).map(str::to_owned)).transpose()
}

/// An empty list counts as absent.
pub(super) fn texts(member: Member<'_>) -> Read<Vec<String>> {
    let Some(value) = member.value else { return Ok(Vec::new()) };
    let items = value.as_array().ok_or_else(|| member.refused("must be an array of strings"))?;
    if items.len() > MAX_LIST {
        return Err(member.refused("has too many items"));
    }
    items.iter().map(|item| member.bounded(item).map(str::to_owned)).collect()
}

pub(super) fn flag(member: Member<'_>) -> Read<Option<bool>> {
    member
        .value
        .map(|value| value.as_bool().ok_or_else(|| member.refused("must be true or false")))
        .transpose()
}

pub(super) fn seconds(member: Member<'_>) -> Read<Option<u64>> {
    let whole =
        |value: &Value| value.as_u64().ok_or_else(|| member.refused("must be a whole number of seconds"));
    member.value.map(whole).transpose()
}

/// A page for people; may have a fragment.
pub(super) fn page(member: Member<'_>) -> Read<Option<String>> {
    text(member)?.map(|url| https(member, url, true)).transpose()
}

/// References to request objects have a hash as fragment (OpenID Connect Core §6.2).
pub(super) fn pages(member: Member<'_>) -> Read<Vec<String>> {
    texts(member)?.into_iter().map(|url| https(member, url, true)).collect()
}

/// A URL that the server or a browser requests.
pub(super) fn endpoint(member: Member<'_>) -> Read<Option<String>> {
    text(member)?.map(|url| https(member, url, false)).transpose()
}

fn https(member: Member<'_>, url: String, may_have_fragment: bool) -> Read<String> {
    let (address, fragment) = match url.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (url.as_str(), None),
    };
    let fits = fragment.is_none_or(|fragment| may_have_fragment && is_uri_text(fragment.as_bytes()));
    if fits && address.starts_with("https://") && RedirectUri::register(address).is_ok() {
        Ok(url)
    } else {
        Err(member.refused("must be an absolute https URL, fully percent-encoded"))
    }
}

pub(super) fn redirect_uris(member: Member<'_>) -> Read<Vec<RedirectUri>> {
    uris(member).map_err(|error| MetadataError { code: ErrorCode::InvalidRedirectUri, ..error })
}

/// OpenID RP-Initiated Logout §3: matched like redirect URIs, so the same rules apply.
pub(super) fn post_logout_redirect_uris(member: Member<'_>) -> Read<Vec<RedirectUri>> {
    uris(member)
}

fn uris(member: Member<'_>) -> Read<Vec<RedirectUri>> {
    let texts = texts(member)?;
    if texts.len() > MAX_REDIRECT_URIS {
        return Err(member.refused("has more than 10 items"));
    }
    let register = |(index, text): (usize, String)| {
        RedirectUri::register(&text).map_err(|error| invalid(format!("{}[{index}]: {error}", member.name)))
    };
    texts.into_iter().enumerate().map(register).collect()
}

/// RFC 7591 §2: the default is `client_secret_basic`.
pub(super) fn auth_method(member: Member<'_>) -> Read<String> {
    let method = text(member)?.unwrap_or_else(|| "client_secret_basic".to_owned());
    served(member, &method, member.allowed.auth_methods)?;
    Ok(method)
}

/// The server's default for clients that name none.
pub(super) fn grant_types(member: Member<'_>) -> Read<Vec<String>> {
    let mut grants = texts(member)?;
    if grants.is_empty() {
        grants.extend(member.allowed.default_grant_types.iter().map(|&grant| grant.to_owned()));
    }
    all_served(member, grants, member.allowed.grant_types)
}

/// The default depends on the grant types: see `consistency`.
pub(super) fn response_types(member: Member<'_>) -> Read<Vec<String>> {
    all_served(member, texts(member)?, member.allowed.response_types)
}

fn all_served(member: Member<'_>, mut values: Vec<String>, served_here: &[&str]) -> Read<Vec<String>> {
    for value in &values {
        served(member, value, served_here)?;
    }
    let mut seen = std::collections::BTreeSet::new();
    values.retain(|value| seen.insert(value.clone()));
    Ok(values)
}

fn served(member: Member<'_>, value: &str, served_here: &[&str]) -> Read<()> {
    if served_here.contains(&value) {
        Ok(())
    } else {
        Err(member.refused(&format!("contains an unsupported value; supported: {}", served_here.join(", "))))
    }
}

pub(super) fn algorithm(member: Member<'_>) -> Read<Option<Algorithm>> {
    let Some(name) = text(member)? else { return Ok(None) };
    served(member, &name, member.allowed.signing_algs)?;
    name.parse().map(Some).map_err(|_| member.refused("is not a supported signature algorithm"))
}

/// A declared scope is a default or a ceiling (decision record 0055), so an empty one is refused.
pub(super) fn scope(member: Member<'_>) -> Read<Option<Scope>> {
    let Some(text) = text(member)? else { return Ok(None) };
    let scope = Scope::parse(&text).map_err(|error| invalid(error.to_string()))?;
    if scope.is_empty() {
        return Err(member.refused("must contain at least one scope, or be omitted"));
    }
    Ok(Some(scope))
}

pub(super) fn application_type(member: Member<'_>) -> Read<Option<ApplicationType>> {
    match text(member)?.as_deref() {
        None => Ok(None),
        Some("web") => Ok(Some(ApplicationType::Web)),
        Some("native") => Ok(Some(ApplicationType::Native)),
        Some(_) => Err(member.refused("must be web or native")),
    }
}

pub(super) fn delivery_mode(member: Member<'_>) -> Read<Option<DeliveryMode>> {
    match text(member)?.as_deref() {
        None => Ok(None),
        Some("poll") => Ok(Some(DeliveryMode::Poll)),
        Some("ping") => Ok(Some(DeliveryMode::Ping)),
        Some(_) => Err(member.refused("must be poll or ping")),
    }
}

pub(super) fn kind(member: Member<'_>) -> Read<ClientKind> {
    match text(member)?.as_deref() {
        None | Some("application") => Ok(ClientKind::Application),
        Some("service") => Ok(ClientKind::Service),
        Some("agent") => Ok(ClientKind::Agent),
        Some(_) => Err(member.refused("must be application, service or agent")),
    }
}

/// Pairwise subjects are not supported.
pub(super) fn subject_type(member: Member<'_>) -> Read<Option<String>> {
    match text(member)? {
        Some(kind) if kind != "public" => Err(member.refused("must be public")),
        kind => Ok(kind),
    }
}
