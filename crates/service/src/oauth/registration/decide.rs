use porteiro_protocol::{
    client_metadata::{Allowed, ClientMetadata, MetadataError},
    error::ErrorCode,
    jose::Algorithm,
    scope::Scope,
};
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::super::{
    apis::Api,
    clients::{ALLOWED, Profile, Trust},
    grant_types::GRANT_TYPES,
    scopes,
};

/// Whether an unverified client may use this grant type.
fn is_open(grant: &str) -> bool {
    GRANT_TYPES.iter().any(|known| known.name == grant && known.open_to_unverified)
}

/// With the default of a client that names no grant types: it may refresh, unless its profile has no refresh tokens
/// (decision record 0078).
pub(super) const fn allowed(profile: Profile) -> Allowed<'static> {
    match profile {
        Profile::Default => {
            Allowed { default_grant_types: &["authorization_code", "refresh_token"], ..ALLOWED }
        }
        Profile::Fapi2 => ALLOWED,
    }
}

/// The trust of a self-registered client, also after every change (docs/decisions/0032).
pub(in crate::oauth) const SELF_REGISTERED: Trust = Trust::Unverified;

fn refused(detail: &str) -> MetadataError {
    MetadataError { code: ErrorCode::InvalidClientMetadata, detail: detail.to_owned() }
}

/// The rules for self-registered clients. They apply to the whole registration at every change: the result never
/// depends on the previous registration.
pub(super) fn check(
    metadata: &ClientMetadata,
    apis: &[Api],
    service_name: &str,
) -> Result<(), MetadataError> {
    if metadata.grant_types.iter().any(|grant| !is_open(grant)) {
        return Err(refused("grant_types contains a grant type that is not available to unverified clients"));
    }
    if !metadata.authorization_details_types.is_empty() {
        return Err(refused("authorization_details_types is not available to unverified clients"));
    }
    // Refused, not dropped: a client that receives less than it requested may not notice (RFC 7591 §3.2.1).
    if metadata.scope.iter().flat_map(Scope::iter).any(|name| !is_open_scope(name, apis)) {
        return Err(refused("scope contains a scope that is not available to unverified clients"));
    }
    if metadata.client_name.as_deref().is_some_and(|name| imitates(name, service_name)) {
        return Err(refused("client_name must not resemble the name of this service"));
    }
    Ok(())
}

/// Whether an unverified client may request a scope.
pub(in crate::oauth) fn is_open_scope(name: &str, apis: &[Api]) -> bool {
    scopes::is_open(name)
        || apis.iter().filter_map(|api| api.scope(name)).any(|scope| scope.open_to_unverified)
}

/// Defaults that the response contains (OpenID Connect Registration §2).
pub(super) fn fill_in(metadata: &mut ClientMetadata) {
    if metadata.has_grant("authorization_code") {
        metadata.id_token_signed_response_alg.get_or_insert(Algorithm::Rs256);
        metadata.subject_type.get_or_insert_with(|| "public".to_owned());
    }
}

/// Members whose change makes it effectively another client.
pub(in crate::oauth) fn weighty_changes(
    before: &ClientMetadata,
    after: &ClientMetadata,
) -> Vec<&'static str> {
    [
        ("redirect_uris", before.redirect_uris != after.redirect_uris),
        ("jwks", before.jwks != after.jwks),
        ("jwks_uri", before.jwks_uri != after.jwks_uri),
        ("token_endpoint_auth_method", before.token_endpoint_auth_method != after.token_endpoint_auth_method),
        ("tls_client_auth", certificate_subject(before) != certificate_subject(after)),
        ("dpop_bound_access_tokens", before.dpop_bound_access_tokens != after.dpop_bound_access_tokens),
        (
            "tls_client_certificate_bound_access_tokens",
            before.tls_client_certificate_bound_access_tokens
                != after.tls_client_certificate_bound_access_tokens,
        ),
        ("grant_types", before.grant_types != after.grant_types),
        ("scope", before.scope != after.scope),
        ("client_name", before.client_name != after.client_name),
        ("kind", before.kind != after.kind),
    ]
    .into_iter()
    .filter_map(|(name, changed)| changed.then_some(name))
    .collect()
}

/// The certificate subject (RFC 8705 §2.1.2).
pub(super) fn certificate_subject(metadata: &ClientMetadata) -> [&Option<String>; 5] {
    [
        &metadata.tls_client_auth_subject_dn,
        &metadata.tls_client_auth_san_dns,
        &metadata.tls_client_auth_san_uri,
        &metadata.tls_client_auth_san_ip,
        &metadata.tls_client_auth_san_email,
    ]
}

/// Whether a person could mistake one name for the other, or for a part of it.
fn imitates(name: &str, protected: &str) -> bool {
    let (name, protected) = (skeleton(name), skeleton(protected));
    // A very short name is part of many legitimate ones.
    if protected.len() < 4 { name == protected } else { name.contains(&protected) }
}

/// Letters and digits without case and accents, and with look-alikes unified.
fn skeleton(text: &str) -> String {
    text.nfkd()
        .filter(|char| char.is_alphanumeric() && !is_combining_mark(*char))
        .flat_map(char::to_lowercase)
        .map(|char| match char {
            '0' | 'о' | 'ο' => 'o',
            '1' | 'l' | 'і' | 'ι' | 'ı' | '|' => 'i',
            '3' | 'е' | 'ε' => 'e',
            '5' | 'ѕ' => 's',
            'а' | 'α' | '4' => 'a',
            'р' | 'ρ' => 'p',
            'с' => 'c',
            'т' | 'τ' | '7' => 't',
            'г' => 'r',
            'х' | 'χ' => 'x',
            'у' | 'γ' => 'y',
            'ν' => 'v',
            other => other,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_pass_for_the_service_are_noticed() {
        for name in [
            "Porteiro",
            "PORTEIRO",
            "P0rte1ro",
            "Pórteirô",
            "p o r t e i r o",
            "Porteiro Security",
            "роrтеіrо",
        ] {
            assert!(imitates(name, "Porteiro"), "{name}");
        }
        for name in ["Porter", "Ledger", "", "Port Eire"] {
            assert!(!imitates(name, "Porteiro"), "{name}");
        }
        assert!(imitates("ID", "Id"));
        assert!(!imitates("Identity Viewer", "Id"));
    }
}
