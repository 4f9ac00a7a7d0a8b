//! Validates a request for a key, and checks that its creator holds its permissions. Pure.

use porteiro_protocol::{
    permission::{Held, Permission},
    plain_text,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::KeyKind;

/// The default lifetime.
pub const DEFAULT_DAYS: u16 = 90;
pub const MOST_DAYS: u16 = 365;
const DAY: f64 = 86_400.0;
const LONGEST_NAME: usize = 100;
const MOST_PERMISSIONS: usize = 100;
const MOST_NETWORKS: usize = 50;

/// A request for a new API key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewApiKey")]
pub struct NewKeyRequest {
    pub name: String,
    pub permissions: Vec<String>,
    /// 90 by default, at most 365.
    #[serde(default)]
    pub expires_in_days: Option<u16>,
    /// The networks from which the key may be used, as `address/length`; empty: any network.
    #[serde(default)]
    pub allowed_networks: Vec<String>,
}

/// A request for a new personal API key.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewPersonalApiKey")]
pub struct NewPersonalKeyRequest {
    /// The organization of the key, by id or slug.
    pub organization: String,
    pub name: String,
    pub permissions: Vec<String>,
    /// 90 by default, at most 365.
    #[serde(default)]
    pub expires_in_days: Option<u16>,
    /// The networks from which the key may be used, as `address/length`; empty: any network.
    #[serde(default)]
    pub allowed_networks: Vec<String>,
}

impl NewPersonalKeyRequest {
    /// The organization, and the rest of the request.
    pub fn split(self) -> (String, NewKeyRequest) {
        let Self { organization, name, permissions, expires_in_days, allowed_networks } = self;
        (organization, NewKeyRequest { name, permissions, expires_in_days, allowed_networks })
    }
}

/// A valid request for a key.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub kind: KeyKind,
    pub name: String,
    pub permissions: Vec<Permission>,
    pub allowed_networks: Vec<String>,
    pub seconds: f64,
}

/// What is invalid, with the name of the member.
pub type Invalid = String;

/// # Errors
/// What is invalid about the request.
pub fn wanted(kind: KeyKind, request: &NewKeyRequest) -> Result<Wanted, Invalid> {
    let Some(name) = plain_text::name(&request.name, LONGEST_NAME) else {
        return Err(format!("name must have 1 to {LONGEST_NAME} printable characters"));
    };
    if !(1..=MOST_PERMISSIONS).contains(&request.permissions.len()) {
        return Err(format!("permissions must have 1 to {MOST_PERMISSIONS} items"));
    }
    let mut permissions = Vec::new();
    for text in &request.permissions {
        let permission: Permission = text.parse().map_err(|error| format!("permissions: {error}"))?;
        fits(kind, &permission)?;
        permissions.push(permission);
    }
    permissions.sort();
    permissions.dedup();
    let days = request.expires_in_days.unwrap_or(DEFAULT_DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(format!("expires_in_days must be between 1 and {MOST_DAYS}"));
    }
    if request.allowed_networks.len() > MOST_NETWORKS {
        return Err(format!("allowed_networks must have at most {MOST_NETWORKS} items"));
    }
    let allowed_networks =
        request.allowed_networks.iter().map(|text| network(text)).collect::<Result<_, _>>()?;
    let name = name.to_owned();
    Ok(Wanted { kind, name, permissions, allowed_networks, seconds: f64::from(days) * DAY })
}

/// Platform permissions belong only in platform keys, whatever the creator holds.
fn fits(kind: KeyKind, permission: &Permission) -> Result<(), Invalid> {
    let of_platform = permission.is_reserved() || permission.resource().starts_with("platform.");
    match (kind, of_platform) {
        (KeyKind::Platform, true) | (KeyKind::Personal | KeyKind::Organization, false) => Ok(()),
        (KeyKind::Platform, false) => Err(format!("permissions: {permission} is not a platform permission")),
        (KeyKind::Personal | KeyKind::Organization, true) => {
            Err(format!("permissions: {permission} is for platform keys only"))
        }
    }
}

/// A network or a single address, in the form of the database.
fn network(text: &str) -> Result<String, Invalid> {
    let single =
        || text.parse::<std::net::IpAddr>().map(|address| ipnet::IpNet::from(address.to_canonical()));
    let network = text.parse::<ipnet::IpNet>().or_else(|_| single());
    let network = network
        .map_err(|_| "allowed_networks: an item is not a network such as 203.0.113.0/24".to_owned())?;
    Ok(network.trunc().to_string())
}

/// The requested permissions that the creator does not hold.
pub fn missing(held: &Held, wanted: &Wanted) -> Vec<Permission> {
    held.missing(&wanted.permissions).into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(permissions: &[&str]) -> NewKeyRequest {
        NewKeyRequest {
            name: " Robot ".into(),
            permissions: permissions.iter().map(|text| (*text).to_owned()).collect(),
            expires_in_days: None,
            allowed_networks: Vec::new(),
        }
    }

    #[test]
    fn a_key_is_named_bounded_and_of_one_place() {
        let plain =
            wanted(KeyKind::Organization, &request(&["members:read", "invoices:*", "members:read"])).unwrap();
        assert_eq!((plain.name.as_str(), plain.permissions.len()), ("Robot", 2));
        assert!((plain.seconds - 7_776_000.0).abs() < 1.0);
        let mut networks = request(&["members:read"]);
        networks.allowed_networks =
            vec!["203.0.113.7/24".into(), "::ffff:198.51.100.1".into(), "2001:db8::/32".into()];
        let networks = wanted(KeyKind::Personal, &networks).unwrap().allowed_networks;
        assert_eq!(networks, ["203.0.113.0/24", "198.51.100.1/32", "2001:db8::/32"]);
        let (here, platform) = (KeyKind::Organization, KeyKind::Platform);
        for (kind, names, fits) in [
            (here, "members:impersonate", false),
            (here, "organizations:administer", false),
            (here, "platform.accounts:read", false),
            (here, "platform.accounts:*", false),
            (platform, "members:read", false),
            (platform, "organizations:*", false),
            (platform, "organizations:administer", true),
            (platform, "platform.accounts:*", true),
        ] {
            assert_eq!(wanted(kind, &request(&[names])).is_ok(), fits, "{kind:?} {names}");
        }
        let bad = [
            NewKeyRequest { name: " \t".into(), ..request(&["members:read"]) },
            NewKeyRequest { name: "a\u{7}".into(), ..request(&["members:read"]) },
            NewKeyRequest { expires_in_days: Some(0), ..request(&["members:read"]) },
            NewKeyRequest { expires_in_days: Some(366), ..request(&["members:read"]) },
            NewKeyRequest { allowed_networks: vec!["here".into()], ..request(&["members:read"]) },
            request(&[]),
            request(&["*:read"]),
        ];
        for bad in bad {
            assert!(wanted(KeyKind::Organization, &bad).is_err(), "{bad:?}");
        }
    }
}
