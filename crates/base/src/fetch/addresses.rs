//! Which addresses belong to the public internet: pure, so that every spelling can be tested.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 outside the public internet (IANA special-purpose registry), and cloud metadata addresses that look public.
const FORBIDDEN_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// Ranges inside 2000::/3 that are not the public internet either: protocol assignments with Teredo and benchmarking,
/// documentation twice, 6to4.
const FORBIDDEN_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address is on the public internet: only these are allowed for addresses from unauthenticated callers.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            !FORBIDDEN_V4.iter().any(|(net, length)| (ip.to_bits() ^ net.to_bits()) >> (32 - length) == 0)
        }
        // Global unicast only. This excludes loopback, unique local, link-local, multicast, v4-mapped and -compatible
        // addresses, both NAT64 prefixes, and whatever is assigned outside it in future.
        IpAddr::V6(ip) => {
            ip.to_bits() >> 125 == 1
                && !FORBIDDEN_V6
                    .iter()
                    .any(|(net, length)| (ip.to_bits() ^ net.to_bits()) >> (128 - length) == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORBIDDEN: &[&str] = &[
        // This network, loopback, private, link-local with metadata, shared (CGNAT).
        "0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 10.255.255.255 172.16.0.1 \
         172.31.255.255 192.168.0.1 169.254.0.1 169.254.169.254 100.64.0.1 100.100.100.200 \
         100.127.255.255",
        // Protocol assignments, documentation, 6to4 relays, benchmarking, multicast, reserved, broadcast, Azure.
        "192.0.0.192 192.0.2.1 198.51.100.9 203.0.113.7 192.88.99.1 198.18.0.1 198.19.255.255 \
         224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16",
        // Unspecified, loopback, v4-mapped and -compatible and -translated.
        ":: ::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::ffff:7f00:1 ::127.0.0.1 \
         ::8.8.8.8 ::ffff:0:8.8.8.8",
        // NAT64 twice, discard, 6to4, Teredo, ORCHID, benchmarking, documentation twice.
        "64:ff9b::7f00:1 64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::a00:1 100::1 2002:7f00:1:: \
         2002:808:808::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1 2001:20::1 \
         2001:2::1 2001:db8::1 3fff::1",
        // Unique local with metadata, link-local, site-local, multicast, segment routing, unassigned.
        "fc00::1 fd00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1 5f00::1 4000::1 \
         e000::1",
    ];
    /// Just outside each range, and well-known ones.
    const PUBLIC: &[&str] =
        &["1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
         128.0.0.0 169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 \
         198.17.255.255 198.20.0.0 223.255.255.255 2001:200::1 2001:4860:4860::8888 2003::1 \
         2606:4700::1111 2a00::1"];

    #[test]
    fn only_the_public_internet_is_public() {
        for (lines, public) in [(FORBIDDEN, false), (PUBLIC, true)] {
            for address in lines.iter().flat_map(|line| line.split_whitespace()) {
                assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
            }
        }
    }
}
