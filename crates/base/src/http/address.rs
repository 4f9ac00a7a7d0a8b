//! The client's address, from the connection and trusted proxies.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

/// The other end of the connection. The listener puts it into every request.
#[derive(Debug, Clone)]
pub struct Peer {
    pub address: SocketAddr,
    /// The client certificate of the TLS handshake, in DER.
    pub certificate: Option<std::sync::Arc<Vec<u8>>>,
}

/// The address for limits and logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// A client certificate in DER, from the handshake or from a trusted proxy (RFC 8705).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate(pub std::sync::Arc<Vec<u8>>);

/// Whether this address is a trusted proxy.
pub fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    let address = address.to_canonical();
    trusted.iter().any(|network| network.contains(&address))
}

/// Reads `X-Forwarded-For` from the right while the writer of an entry is a trusted proxy; the first address that is
/// not a trusted proxy is the client. An unreadable entry ends the search at its writer.
pub(super) fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> ClientAddress {
    let mut client = peer.to_canonical();
    let entries: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .flat_map(|line| line.to_str().unwrap_or("?").split(','))
        .map(str::trim)
        .collect();
    for entry in entries.iter().rev() {
        if !is_trusted(client, trusted) {
            break;
        }
        let Ok(previous) = entry.trim_matches(['[', ']']).parse::<IpAddr>() else { break };
        client = previous.to_canonical();
    }
    ClientAddress(client)
}

/// The certificate that a trusted proxy passes on, as URL-encoded PEM. Ignored from any other address.
pub(super) fn proxied_certificate(
    peer: IpAddr,
    headers: &HeaderMap,
    header: &str,
    trusted: &[IpNet],
) -> Option<ClientCertificate> {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    if !is_trusted(peer, trusted) {
        return None;
    }
    let mut lines = headers.get_all(header).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    // A percent-encoded PEM contains '+' as itself: base64 uses it, and nginx escapes spaces as %20.
    let pem = percent_decode(line.to_str().ok()?)?;
    let certificate = CertificateDer::from_pem_slice(&pem).ok()?;
    Some(ClientCertificate(std::sync::Arc::new(certificate.to_vec())))
}

fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|digit| (digit as char).to_digit(16));
            bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&'static str], trusted: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|network| network.parse().unwrap()).collect();
        client_address(peer.parse().unwrap(), &headers, &trusted).0.to_string()
    }

    #[test]
    fn a_stranger_cannot_choose_an_address() {
        assert_eq!(client("203.0.113.9", &["10.0.0.1"], &[]), "203.0.113.9");
        assert_eq!(client("203.0.113.9", &["10.0.0.1"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(client("10.0.0.2", &["6.6.6.6, 203.0.113.9"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(client("10.0.0.2", &["6.6.6.6", "203.0.113.9, 10.0.0.3"], &["10.0.0.0/8"]), "203.0.113.9");
        assert_eq!(client("10.0.0.2", &["nonsense"], &["10.0.0.0/8"]), "10.0.0.2");
        assert_eq!(client("10.0.0.2", &["203.0.113.9, nonsense"], &["10.0.0.0/8"]), "10.0.0.2");
        assert_eq!(client("::ffff:10.0.0.2", &["[2001:db8::1]"], &["10.0.0.0/8"]), "2001:db8::1");
        assert_eq!(client("10.0.0.2", &[], &["10.0.0.0/8"]), "10.0.0.2");
    }
}
