//! What a profile requires of a client's registration, in addition to the general rules.

use porteiro_protocol::{client_metadata::ClientMetadata, jose::Algorithm};

use super::Profile;

const FAPI2_METHODS: &[&str] = &["private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"];
/// FAPI 2.0 Security Profile §5.4.1.
pub const FAPI2_ALGORITHMS: &[Algorithm] = &[Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];

/// # Errors
/// The rule that is broken, with the member and never its value.
pub fn check(profile: Profile, metadata: &ClientMetadata) -> Result<(), String> {
    match profile {
        Profile::Default => Ok(()),
        Profile::Fapi2 => fapi2(metadata),
    }
}

/// FAPI 2.0 Security Profile §5.3.2.
fn fapi2(metadata: &ClientMetadata) -> Result<(), String> {
    let demand = |holds: bool, rule: &str| if holds { Ok(()) } else { Err(format!("fapi2: {rule}")) };
    demand(
        FAPI2_METHODS.contains(&metadata.token_endpoint_auth_method.as_str()),
        "token_endpoint_auth_method must be private_key_jwt, tls_client_auth or self_signed_tls_client_auth",
    )?;
    demand(
        metadata.require_pushed_authorization_requests == Some(true),
        "require_pushed_authorization_requests must be true",
    )?;
    demand(
        metadata.tls_client_certificate_bound_access_tokens == Some(true)
            || metadata.dpop_bound_access_tokens == Some(true),
        "tls_client_certificate_bound_access_tokens or dpop_bound_access_tokens must be true",
    )?;
    // Rotation and the retry that the profile requires exclude each other (docs/decisions/0020).
    demand(!metadata.has_grant("refresh_token"), "grant_types must not have refresh_token")?;
    let chosen = [
        ("id_token_signed_response_alg", metadata.id_token_signed_response_alg),
        ("userinfo_signed_response_alg", metadata.userinfo_signed_response_alg),
        ("request_object_signing_alg", metadata.request_object_signing_alg),
        ("token_endpoint_auth_signing_alg", metadata.token_endpoint_auth_signing_alg),
        ("authorization_signed_response_alg", metadata.authorization_signed_response_alg),
    ];
    for (member, algorithm) in chosen {
        let fits = algorithm.is_none_or(|algorithm| FAPI2_ALGORITHMS.contains(&algorithm));
        demand(fits, &format!("{member} must be PS256, ES256 or EdDSA"))?;
    }
    // For clients with a code grant, the general default would be RS256.
    demand(
        !metadata.has_grant("authorization_code") || metadata.id_token_signed_response_alg.is_some(),
        "id_token_signed_response_alg must be PS256, ES256 or EdDSA",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn verdict(change: &Value) -> Result<(), String> {
        let mut metadata = json!({
            "token_endpoint_auth_method": "private_key_jwt",
            "grant_types": ["authorization_code"],
            "require_pushed_authorization_requests": true,
            "dpop_bound_access_tokens": true,
            "id_token_signed_response_alg": "PS256",
        });
        for (name, value) in change.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        metadata.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        check(Profile::Fapi2, &serde_json::from_value(metadata).unwrap())
    }

    #[test]
    fn fapi2_takes_what_it_should() {
        for change in [
            json!({}),
            json!({"token_endpoint_auth_method": "tls_client_auth"}),
            json!({"token_endpoint_auth_method": "self_signed_tls_client_auth"}),
            json!({"dpop_bound_access_tokens": null, "tls_client_certificate_bound_access_tokens": true}),
            json!({"id_token_signed_response_alg": "ES256", "request_object_signing_alg": "EdDSA"}),
            json!({"grant_types": ["client_credentials"], "id_token_signed_response_alg": null}),
        ] {
            assert_eq!(verdict(&change), Ok(()), "{change}");
        }
    }

    #[test]
    fn fapi2_refuses_what_is_weaker() {
        for change in [
            json!({"token_endpoint_auth_method": "none"}),
            json!({"token_endpoint_auth_method": "client_secret_basic"}),
            json!({"token_endpoint_auth_method": "client_secret_post"}),
            json!({"require_pushed_authorization_requests": false}),
            json!({"require_pushed_authorization_requests": null}),
            json!({"dpop_bound_access_tokens": false}),
            json!({"dpop_bound_access_tokens": null}),
            json!({"grant_types": ["authorization_code", "refresh_token"]}),
            json!({"id_token_signed_response_alg": "RS256"}),
            json!({"id_token_signed_response_alg": null}),
            json!({"userinfo_signed_response_alg": "RS256"}),
            json!({"request_object_signing_alg": "RS256"}),
            json!({"token_endpoint_auth_signing_alg": "RS256"}),
            json!({"authorization_signed_response_alg": "RS256"}),
        ] {
            assert!(verdict(&change).is_err(), "{change}");
        }
        assert_eq!(check(Profile::Default, &ClientMetadata::default()), Ok(()));
    }
}
