//! What can be agreed. Pure.

use porteiro_protocol::{
    jose::Algorithm,
    metadata::{check_resource_url, is_same_resource},
};

/// The longest id of a client or subject at another server.
const LONGEST_ID: usize = 255;
const MOST_RESOURCES: usize = 50;

/// Whether another server can be named by this issuer. It is compared byte by byte ever after.
///
/// # Errors
/// What is wrong, in words for the caller.
pub fn check_issuer(issuer: &str, own: &str) -> Result<(), String> {
    if !issuer.starts_with("https://") || check_resource_url(issuer).is_err() {
        return Err("issuer must be a normalized https URL without query and fragment".into());
    }
    // The draft: a server "MUST NOT issue access tokens in response to an ID-JAG it issued itself".
    if is_same_resource(issuer, own) {
        return Err("issuer is this server, which issues no assertions to itself".into());
    }
    Ok(())
}

/// Whether this can be the id of a client, a subject or a tenant at another server.
///
/// # Errors
/// What is wrong, in words for the caller.
pub fn check_id(name: &str, id: &str) -> Result<(), String> {
    let fits = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
    if fits { Ok(()) } else { Err(format!("{name} must have 1 to {LONGEST_ID} bytes")) }
}

/// # Errors
/// What is wrong, in words for the caller.
pub fn check_resources(resources: &[String]) -> Result<(), String> {
    if resources.len() > MOST_RESOURCES {
        return Err(format!("at most {MOST_RESOURCES} resources are allowed"));
    }
    match resources.iter().find_map(|resource| check_resource_url(resource).err()) {
        Some(error) => Err(format!("a resource {error}")),
        None => Ok(()),
    }
}

/// The algorithms by which assertions may be signed: at least one, each named.
///
/// # Errors
/// What is wrong, in words for the caller.
pub fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
    let named: Result<Vec<Algorithm>, _> = names.iter().map(|name| name.parse()).collect();
    match named {
        Ok(named) if !named.is_empty() && named.len() <= Algorithm::ALL.len() => Ok(named),
        Ok(_) | Err(_) => Err("algorithms must be one or more of ES256, EdDSA, RS256 and PS256".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_another_server_over_https() {
        let own = "https://id.example";
        assert_eq!(check_issuer("https://as.example", own), Ok(()));
        assert_eq!(check_issuer("https://as.example/tenant", own), Ok(()));
        for wrong in [
            "",
            "as.example",
            "http://localhost:8080",
            "https://as.example?x",
            "https://AS.example",
            "https://id.example",
            "https://id.example/",
        ] {
            assert!(check_issuer(wrong, own).is_err(), "{wrong}");
        }
    }

    #[test]
    fn algorithms_are_pinned_and_asymmetric() {
        let named =
            |names: &[&str]| algorithms(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(named(&["ES256", "RS256"]), Ok(vec![Algorithm::Es256, Algorithm::Rs256]));
        for wrong in [&[][..], &["none"], &["HS256"], &["ES256", "HS256"]] {
            assert!(named(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn ids_and_resources_have_bounds() {
        assert_eq!(check_id("subject", "u-1"), Ok(()));
        for wrong in [String::new(), "a\n".into(), "a".repeat(256)] {
            assert!(check_id("subject", &wrong).is_err());
        }
        let resource = || "https://api.example/mcp".to_owned();
        assert_eq!(check_resources(&[resource()]), Ok(()));
        assert!(check_resources(&vec![resource(); 51]).is_err());
        assert!(check_resources(&["urn:x".into()]).is_err());
    }
}
