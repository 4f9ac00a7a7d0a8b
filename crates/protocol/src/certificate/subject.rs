//! The subject a client registers for `tls_client_auth` (RFC 8705 §2.1.2): exactly one of five.

use std::net::IpAddr;

use super::name::Name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// In the string form of RFC 4514.
    DistinguishedName(String),
    SanDns(String),
    SanUri(String),
    SanIp(String),
    SanEmail(String),
}

impl Subject {
    /// From a member of client metadata. `None` when the member names no subject.
    #[must_use]
    pub fn from_metadata(member: &str, value: &str) -> Option<Self> {
        let kind = match member {
            "tls_client_auth_subject_dn" => Self::DistinguishedName,
            "tls_client_auth_san_dns" => Self::SanDns,
            "tls_client_auth_san_uri" => Self::SanUri,
            "tls_client_auth_san_ip" => Self::SanIp,
            "tls_client_auth_san_email" => Self::SanEmail,
            _ => return None,
        };
        Some(kind(value.to_owned()))
    }

    /// Whether any certificate could match: registration and matching refuse the same subjects.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        match self {
            Self::DistinguishedName(text) => Name::parse(text).is_some(),
            // A wildcard certificate does not identify one client (RFC 8705 §2.1.2: one name).
            Self::SanDns(dns) => !dns.is_empty() && !dns.contains('*'),
            Self::SanUri(uri) => uri.contains(':'),
            Self::SanIp(ip) => ip.parse::<IpAddr>().is_ok(),
            Self::SanEmail(email) => mailbox(email).is_some(),
        }
    }
}

/// RFC 5280 §7.5: the host is compared without case, the local part exactly.
pub(super) fn same_mailbox(one: &str, other: &str) -> bool {
    match (mailbox(one), mailbox(other)) {
        (Some((one, at)), Some((other, other_at))) => one == other && at.eq_ignore_ascii_case(other_at),
        _ => false,
    }
}

fn mailbox(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once('@').filter(|(local, domain)| !local.is_empty() && !domain.is_empty())
}
