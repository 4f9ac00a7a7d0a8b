//! Which URLs may be requested: pure, so that every spelling can be tested.

use std::path::PathBuf;

use url::{Host, Url};

const LONGEST_URL: usize = 2048;
const HTTPS: u16 = 443;
/// Below are mail, name and directory servers, of which some speak TLS too.
const UNPRIVILEGED: u16 = 1024;

/// Who chose the address. Stated at every call, because the address does not show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Unauthenticated callers: anyone who can register a client or fill in a form.
    Strangers,
    /// The same people, for a document that one of them is known to ask for: a port that needs no privileges will do too
    /// (docs/decisions/0091).
    Documents,
    /// Administrators of an organization, for its directory. They are strangers where people may create organizations.
    Organizations,
    /// The operator, in the settings of this deployment.
    Operators,
}

/// Exceptions from the settings.
#[derive(Debug, Clone, Default)]
pub struct FetchPolicy {
    /// `host:port`, compared exactly. [`Destination::Operators`] may reach them although they are private, also by IP
    /// address, and over plain http if they are on this machine.
    pub allowed_private_hosts: Vec<String>,
    /// `host:port` as above that [`Destination::Strangers`] may reach, over https. Empty in production
    /// (docs/decisions/0038).
    pub strangers_private_hosts: Vec<String>,
    /// `host:port` as above that [`Destination::Organizations`] may reach.
    pub organizations_private_hosts: Vec<String>,
    /// Ports beside 443.
    pub allowed_ports: Vec<u16>,
    /// A PEM file of certificate authorities, trusted for listed hosts only.
    pub private_ca_file: Option<PathBuf>,
}

/// How a permitted address is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Every resolved address is checked.
    Guarded,
    /// Listed by the operator: not checked.
    Listed,
}

impl FetchPolicy {
    /// Whether a URL may be requested, before its name is resolved. For the check of settings.
    ///
    /// # Errors
    /// What is wrong, without quoting the address.
    pub fn check(&self, to: Destination, url: &str) -> Result<(), &'static str> {
        self.judge(to, url).map(|_| ())
    }

    /// # Errors
    /// The entry of the lists that could never match.
    pub fn check_hosts(&self) -> Result<(), String> {
        let matches = |entry: &str| {
            let (host, port) = entry.rsplit_once(':')?;
            let port = port.parse::<u16>().ok().filter(|number| number.to_string() == port)?;
            let url = Url::parse(&format!("https://{entry}/")).ok()?;
            (url.host_str() == Some(host) && url.port_or_known_default() == Some(port)).then_some(())
        };
        let lists =
            [&self.allowed_private_hosts, &self.strangers_private_hosts, &self.organizations_private_hosts];
        let mut entries = lists.into_iter().flatten();
        match entries.find(|entry| matches(entry).is_none()) {
            Some(entry) => Err(format!("{entry} is not a lower-case host:port such as sms.internal:8443")),
            None => Ok(()),
        }
    }

    pub(super) fn judge(&self, to: Destination, text: &str) -> Result<(Url, Way), &'static str> {
        // Characters that parsers repair (spaces, line ends, backslashes) may be repaired in different ways.
        let odd = |c: char| !c.is_ascii_graphic() || c == '\\';
        if text.len() > LONGEST_URL || text.contains(odd) {
            return Err("is too long or contains characters that are not allowed in a URL");
        }
        // Parsing drops an empty user name, so it is checked before.
        let authority = text.split_once("://").map_or("", |(_, rest)| rest);
        if authority.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@')) {
            return Err("has a user name or password");
        }
        let url = Url::parse(text).map_err(|_| "is not a URL")?;
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err("has no host");
        };
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
            return Err("has a user name, a password or a fragment");
        }
        let listed = self.lists(to, &host, port);
        match url.scheme() {
            "https" => {}
            "http" if listed && may_be_plain(to) && is_this_machine(&host) => {}
            _ => return Err("is not https"),
        }
        if listed {
            return Ok((url, Way::Listed));
        }
        let Host::Domain(name) = host else { return Err("has an IP address instead of a host name") };
        if name.ends_with('.') || !name.contains('.') {
            return Err("is not a full host name");
        }
        let any_port = match to {
            Destination::Documents => port >= UNPRIVILEGED,
            Destination::Strangers | Destination::Organizations | Destination::Operators => false,
        };
        if port != HTTPS && !any_port && !self.allowed_ports.contains(&port) {
            return Err("uses a port other than 443");
        }
        Ok((url, Way::Guarded))
    }

    fn lists(&self, to: Destination, host: &Host<&str>, port: u16) -> bool {
        let list = match to {
            Destination::Strangers | Destination::Documents => &self.strangers_private_hosts,
            Destination::Organizations => &self.organizations_private_hosts,
            Destination::Operators => &self.allowed_private_hosts,
        };
        list.contains(&format!("{host}:{port}"))
    }
}

/// The operator listed the host for a service of theirs, which may be a directory.
const fn may_be_plain(to: Destination) -> bool {
    match to {
        Destination::Organizations | Destination::Operators => true,
        Destination::Strangers | Destination::Documents => false,
    }
}

fn is_this_machine(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Destination::{Documents, Operators, Strangers},
        *,
    };

    #[test]
    fn a_strangers_address_is_https_with_a_name_and_nothing_clever() {
        let policy = FetchPolicy {
            allowed_private_hosts: vec!["10.0.0.5:443".into(), "sms.internal.example:8443".into()],
            allowed_ports: vec![8444],
            ..FetchPolicy::default()
        };
        for good in [
            "https://app.example.org",
            "https://app.example.org/jwks?x=1",
            "https://app.example.org:443/",
            "https://APP.example.org/",
            "https://app.example.org:8444/",
            "https://xn--bcher-kva.example/",
            "https://app.example.org/a@b",
            "https://1.2.3.4.example/",
        ] {
            assert_eq!(policy.judge(Strangers, good).map(|(_, way)| way), Ok(Way::Guarded), "{good}");
        }
        for bad in [
            "",
            "app.example.org",
            "//app.example.org",
            "http://app.example.org/",
            "ftp://app.example.org/",
            "file:///etc/passwd",
            "gopher://app.example.org/",
            "data:application/json,{}",
            "https:///x",
            "https://user@app.example.org/",
            "https://user:pw@app.example.org/",
            "https://@app.example.org/",
            "https://:@app.example.org/",
            "https://good.example@127.0.0.1/",
            "https://app.example.org:8080/",
            "https://app.example.org:22/",
            "https://app.example.org:0/",
            "https://app.example.org/#top",
            "https://app.example.org/#",
            "https://app.example.org./",
            "https://localhost/",
            "https://metadata/",
            "https://127.0.0.1/",
            "https://8.8.8.8/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://017700000001/",
            "https://127.1/",
            "https://127.0.0.1./",
            "https://%31%32%37.0.0.1/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[fe80::1%25eth0]/",
            "https://[2606:4700::1111]/",
            "https://①②⑦.0.0.1/",
            "https://app。example/",
            "https://bücher.example/",
            "https://app.example.org\\@evil.example/",
            "https:\\\\app.example.org/",
            "https://app.exa\nmple.org/",
            "https://app.example.org/ x",
            " https://app.example.org/",
            "https://app.example.org/\t",
            "https://app.example.org/\0",
            "https://10.0.0.5/",
            "https://sms.internal.example:8443/",
        ] {
            assert!(policy.judge(Strangers, bad).is_err(), "{bad}");
        }
        let long = format!("https://app.example.org/{}", "a".repeat(LONGEST_URL));
        assert!(policy.judge(Strangers, &long).is_err());
    }

    #[test]
    fn an_operators_address_may_be_private_only_when_listed_exactly() {
        let hosts = ["127.0.0.1:4318", "localhost:9", "[::1]:80", "10.0.0.5:443", "sms:8443"];
        let policy =
            FetchPolicy { allowed_private_hosts: hosts.map(str::to_owned).into(), ..FetchPolicy::default() };
        policy.check_hosts().unwrap();
        for (url, way) in [
            ("http://127.0.0.1:4318/v1", Some(Way::Listed)),
            ("http://localhost:9/", Some(Way::Listed)),
            ("http://[::1]/", Some(Way::Listed)),
            ("https://10.0.0.5/", Some(Way::Listed)),
            ("https://sms:8443/", Some(Way::Listed)),
            ("https://api.example.org/", Some(Way::Guarded)),
            ("http://api.example.org/", None),
            ("http://127.0.0.1:4319/", None),
            ("http://127.0.0.2:4318/", None),
            ("http://sms:8443/", None),
            ("http://10.0.0.5:443/", None),
            ("https://sms/", None),
            ("https://user@sms:8443/", None),
            ("https://10.0.0.6/", None),
        ] {
            assert_eq!(policy.judge(Operators, url).ok().map(|(_, way)| way), way, "{url}");
            assert!(way == Some(Way::Guarded) || policy.check(Strangers, url).is_err(), "{url}");
        }
        for entry in
            ["sms", "sms:", "sms:x", "sms:08443", "SMS:8443", "https://sms:8443", "sms:8443/x", "a@b:1", ":1"]
        {
            let policy = FetchPolicy { allowed_private_hosts: vec![entry.into()], ..FetchPolicy::default() };
            assert!(policy.check_hosts().is_err(), "{entry}");
        }
    }

    #[test]
    fn a_document_may_be_on_a_port_that_needs_no_privileges_and_nowhere_else() {
        let policy = FetchPolicy::default();
        for port in [443, 1024, 8443, 65535] {
            assert!(
                policy.check(Documents, &format!("https://app.example.org:{port}/client")).is_ok(),
                "{port}"
            );
        }
        for port in [0, 22, 25, 80, 465, 636, 993, 1023] {
            assert!(
                policy.check(Documents, &format!("https://app.example.org:{port}/client")).is_err(),
                "{port}"
            );
        }
        for bad in [
            "https://127.0.0.1:8443/",
            "https://localhost:8443/",
            "https://[::1]:8443/",
            "http://app.example.org/",
        ] {
            assert!(policy.check(Documents, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_host_listed_for_strangers_is_theirs_alone_and_over_https_alone() {
        let hosts = vec!["127.0.0.1:8443".into(), "localhost:8443".into()];
        let policy = FetchPolicy { strangers_private_hosts: hosts, ..FetchPolicy::default() };
        let way = |to, url: &str| policy.judge(to, url).ok().map(|(_, way)| way);
        assert_eq!(way(Strangers, "https://127.0.0.1:8443/jwks"), Some(Way::Listed));
        assert_eq!(way(Strangers, "https://localhost:8443/jwks"), Some(Way::Listed));
        for bad in
            ["http://127.0.0.1:8443/", "https://127.0.0.1/", "https://127.0.0.1:8444/", "https://127.1:8444/"]
        {
            assert_eq!(way(Strangers, bad), None, "{bad}");
        }
        assert_eq!(way(Operators, "https://127.0.0.1:8443/jwks"), None);
    }
}
