//! The table, and the document that is written from it.

use std::fmt::Write;

/// What verifying or computing something costs, at most.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    /// Parsing and looking up: well under a millisecond.
    Light,
    /// One signature of at most RSA-4096, limited by network before it is verified; RSA beside the async threads.
    Signature,
    /// One password hash on a bounded queue, limited by network before.
    Hash,
}

/// What one request may cost, and how often one network may cause that.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    pub method: &'static str,
    pub path: &'static str,
    pub statements: u32,
    /// Rows that one request may add, limit buckets aside, and their bytes as text.
    pub rows: u32,
    pub bytes: u32,
    /// Rows in `limit_bucket` for one network: they stay as many, however often it asks.
    pub buckets: u32,
    /// Requests that may add rows: so many at once, then one per interval.
    pub burst: u32,
    pub interval_seconds: f64,
    pub work: Work,
    /// Requests we send for it, at most, and what limits them.
    pub outbound: &'static str,
}

const NEVER: f64 = 1e9;
const NONE: &str = "none";
const KEYS: &str = "the client's keys, where it registered `jwks_uri`: once in ten minutes, twice a minute for an unknown `kid`";

/// Reads only.
const fn reads(method: &'static str, path: &'static str, statements: u32) -> Cost {
    Cost {
        method,
        path,
        statements,
        rows: 0,
        bytes: 0,
        buckets: 0,
        burst: 0,
        interval_seconds: NEVER,
        work: Work::Light,
        outbound: NONE,
    }
}

/// Proves a client: failures take from buckets, assertions leave a row.
const fn proves(path: &'static str, statements: u32) -> Cost {
    Cost {
        rows: 1,
        bytes: 250,
        buckets: 10,
        burst: 300,
        interval_seconds: 0.5,
        work: Work::Signature,
        outbound: KEYS,
        ..reads("POST", path, statements)
    }
}

/// Begins a flow.
const fn begins(method: &'static str, path: &'static str, statements: u32, bytes: u32) -> Cost {
    Cost { rows: 2, bytes, buckets: 6, burst: 600, interval_seconds: 1.0, ..reads(method, path, statements) }
}

/// Verifies the signature of a connection's provider.
const fn ends(path: &'static str) -> Cost {
    Cost {
        buckets: 1,
        burst: 600,
        interval_seconds: 1.0,
        work: Work::Signature,
        outbound: CONNECTIONS,
        ..reads("POST", path, 3)
    }
}

const REFERENCE: &str = "the request object, where the client registered its address: 60 at once, then one every 5 seconds; and the client's keys";

const CONNECTIONS: &str = "metadata and keys of a connection: once in ten minutes, twice a minute for an unknown `kid`; the code of an answer: 60 at once, then one every 20 seconds";

/// Every route that answers without a person's or an administrator's credentials.
pub const COSTS: &[Cost] = &[
    reads("GET", "/.well-known/jwks.json", 0),
    reads("GET", "/.well-known/oauth-authorization-server", 1),
    reads("GET", "/.well-known/oauth-protected-resource", 1),
    reads("GET", "/.well-known/oauth-protected-resource/{*resource}", 1),
    reads("GET", "/.well-known/openid-configuration", 1),
    reads("GET", "/.well-known/webauthn", 0),
    reads("GET", "/connect/authorization-details-types", 1),
    Cost { work: Work::Signature, outbound: REFERENCE, ..begins("GET", "/connect/authorize", 22, 24 * 1024) },
    Cost {
        work: Work::Signature,
        outbound: REFERENCE,
        ..begins("POST", "/connect/authorize", 22, 40 * 1024)
    },
    proves("/connect/challenge", 8),
    proves("/connect/ciba", 8),
    proves("/connect/device", 8),
    ends("/connect/federation/{connection}/logout"),
    ends("/connect/federation/{organization}/{connection}/logout"),
    proves("/connect/introspect", 8),
    reads("GET", "/connect/logout", 2),
    reads("POST", "/connect/logout", 2),
    Cost { rows: 2, bytes: 36 * 1024, burst: 120, interval_seconds: 5.0, ..proves("/connect/par", 11) },
    Cost {
        rows: 3,
        bytes: 36 * 1024,
        buckets: 4,
        burst: 10,
        interval_seconds: 360.0,
        ..reads("POST", "/connect/register", 11)
    },
    Cost { buckets: 1, ..reads("DELETE", "/connect/register/{client_id}", 2) },
    Cost { buckets: 1, ..reads("GET", "/connect/register/{client_id}", 2) },
    Cost { buckets: 1, ..reads("PUT", "/connect/register/{client_id}", 2) },
    proves("/connect/revoke", 8),
    proves("/connect/token", 8),
    reads("GET", "/connect/userinfo", 0),
    reads("POST", "/connect/userinfo", 0),
    reads("GET", "/healthz", 0),
    reads("GET", "/readyz", 3),
    reads("GET", "/v1/branding/clients/{owner}/{digest}", 1),
    reads("GET", "/v1/branding/organizations/{owner}/{digest}", 1),
    reads("GET", "/v1/changes", 0),
    begins("POST", "/v1/flows", 16, 4 * 1024),
    reads("DELETE", "/v1/flows/{id}", 2),
    reads("GET", "/v1/flows/{id}", 2),
    Cost {
        rows: 9,
        bytes: 4 * 1024,
        buckets: 12,
        burst: 130,
        interval_seconds: 20.0,
        work: Work::Hash,
        outbound: CONNECTIONS,
        ..reads("POST", "/v1/flows/{id}/{module}/{verb}", 40)
    },
    reads("POST", "/v1/invitations/look", 2),
    reads("GET", "/v1/openapi.json", 0),
];

const INTRODUCTION: &str = "\
<!-- Written by `PORTEIRO_TEST_RECORD=1 cargo test -p porteiro-tests anonymous_costs`. Do not edit. -->

# What a stranger may cost

Every route that answers without a person's or an administrator's credentials, and what one request to it may cost at
most. It includes those that need a client, a flow or a registration token: anybody can make one. A test drives each of
them with hostile input, from one network and from many, and counts statements, rows and bytes
(`tests/src/review/anonymous_costs/`). A route without a row here fails it. Why the numbers are what they are:
[0079](../decisions/0079-storage-that-anonymous-callers-cause-is-bounded.md), [0080](../decisions/0080-signature-verification-for-anonymous-callers-is-bounded.md).

- *Statements*: sent to PostgreSQL for one request, limits included. Once a quarter of a second and node there is one more,
  which asks what has changed.
- *Rows*, *bytes*: what one request may add, as text. *Buckets*: rows of limits for one network, however often it asks.
- *At once*, *then one every*: how many requests of one network (an IPv4 address, an IPv6 /64) may add rows. What is
  beyond is answered 429 and adds nothing.
- *Work*: *light* is parsing and looking up; *signature* is one signature, limited by network before it is verified, RSA
  beside the async threads; *hash* is one password hash on a bounded queue.
- Rows leave by themselves: pushed requests within three minutes, flows and used proofs and assertions within two days,
  unused clients after a day, buckets a day after they are full. Entries of the log stay.

Every other route needs a session, a token or a key. Without one it answers 401 or 404, and adds nothing.

| Method | Path | Statements | Rows | Bytes | Buckets | At once | Then one every | Work | We send |
|---|---|---|---|---|---|---|---|---|---|
";

pub fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    for cost in COSTS {
        let (burst, interval) = if cost.rows == 0 {
            ("—".to_owned(), "—".to_owned())
        } else {
            (cost.burst.to_string(), format!("{} s", cost.interval_seconds))
        };
        let work = match cost.work {
            Work::Light => "light",
            Work::Signature => "signature",
            Work::Hash => "hash",
        };
        let _ = writeln!(
            text,
            "| {} | `{}` | {} | {} | {} | {} | {burst} | {interval} | {work} | {} |",
            cost.method, cost.path, cost.statements, cost.rows, cost.bytes, cost.buckets, cost.outbound
        );
    }
    text
}
