//! Every setting, documented where it is defined. `docs/settings.md`, `porteiro config schema` and the
//! environment names all come from this one structure; a setting is flat and spelt the same everywhere.

mod check;
pub mod colour;
mod defaults;
mod described;
mod sensitive;
mod sms;
mod smtp;

use std::{net::SocketAddr, path::PathBuf};

use ipnet::IpNet;
use porteiro_protocol::assurance::Level;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use check::{Checked, Finding, Mode};
pub use described::{Described, Kind, described, schema};
pub use sensitive::Sensitive;
pub use sms::{SmsProviderName, SmsSettings};
pub use smtp::SmtpAddress;

/// Settings of the service. File (TOML), then environment (`PORTEIRO_` + upper-case name), then flags.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own with a name of its own")]
pub struct Settings {
    /// The address of PostgreSQL: `postgres://user:password@host:5432/database`. PgBouncer must be 1.21 or later, in
    /// transaction mode with `max_prepared_statements` set. Connections to other machines are encrypted and the
    /// server's certificate is verified, unless `sslmode=disable` is set.
    #[schemars(with = "String")]
    pub database_url: Sensitive,

    /// A PEM file of additional certificate authorities to trust for PostgreSQL.
    pub database_ca_file: Option<PathBuf>,

    /// The number of PostgreSQL connections of one node. One is sufficient; about four per database core is fastest.
    #[schemars(range(min = 1, max = 1000))]
    pub database_pool_size: usize,

    /// How long a request waits for one of these connections before it is refused with status 503. Nothing was done
    /// then, so the client may repeat the request.
    #[schemars(range(min = 10, max = 60_000))]
    pub database_wait_milliseconds: u32,

    /// Whether codes and refresh tokens that are redeemed at the same time share one database statement. This does not
    /// delay requests; switch it off only for comparison.
    pub group_statements: bool,

    /// The public address of the service, and the issuer in every token: scheme, host and, if needed, port, without a
    /// path. It must be https in production.
    pub base_url: String,

    /// The address on which this node listens for requests. It uses plain HTTP unless `tls_certificate_file` is set;
    /// with plain HTTP, put it behind a proxy that terminates TLS.
    #[schemars(with = "String")]
    pub listen: SocketAddr,

    /// A PEM certificate chain. With `tls_key_file`, `listen` uses TLS.
    pub tls_certificate_file: Option<PathBuf>,

    /// The PEM private key of `tls_certificate_file`.
    pub tls_key_file: Option<PathBuf>,

    /// The address of a second TLS listener that requests client certificates but does not require them (RFC 8705).
    /// Requires `tls_certificate_file`.
    #[schemars(with = "Option<String>")]
    pub mtls_listen: Option<SocketAddr>,

    /// A PEM file of the certificate authorities that sign client certificates directly. It allows clients to
    /// authenticate by the subject of a certificate (`tls_client_auth`).
    pub mtls_ca_file: Option<PathBuf>,

    /// The public address of `mtls_listen` or of the proxy in front of it, if it differs from `base_url`: scheme, host
    /// and port. Published as `mtls_endpoint_aliases` (RFC 8705 §5).
    pub mtls_base_url: Option<String>,

    /// The request header in which a proxy from `trusted_proxies` passes the verified client certificate, as
    /// URL-encoded PEM (nginx: `$ssl_client_escaped_cert`). The header is ignored from any other address.
    pub client_certificate_header: Option<String>,

    /// Networks whose `X-Forwarded-For` header is trusted, in CIDR notation. Empty by default: the address of the
    /// connection is used.
    #[schemars(with = "Vec<String>")]
    pub trusted_proxies: Vec<IpNet>,

    /// The address on which Prometheus can scrape `/metrics`. Without it there is no such listener. Do not make it
    /// public.
    #[schemars(with = "Option<String>")]
    pub metrics_listen: Option<SocketAddr>,

    /// The file that contains the master key: 32 random bytes as 64 hexadecimal digits, readable by this service only.
    /// It encrypts signing keys and TOTP secrets, and derives the keys for looking up accounts and verifying sessions:
    /// never replace it for a database that has accounts. `porteiro keys generate --create-master-key` creates one.
    pub master_key_file: Option<PathBuf>,

    /// The mail server: `smtp://user:password@host:587` (STARTTLS required) or `smtps://…:465` (implicit TLS). Mail and
    /// passwords are never sent unencrypted.
    #[schemars(with = "Option<String>")]
    pub smtp_url: Option<Sensitive>,

    /// A PEM file of additional certificate authorities to trust for the mail server.
    pub smtp_ca_file: Option<PathBuf>,

    /// The sender of every mail.
    pub mail_from: String,

    /// The name of this service in mails, text messages and pages.
    pub service_name: String,

    /// The page under `base_url` that a mailed link opens, such as `/ui/link`: it posts the fragment of the link to the
    /// flow. The hosted screens include one. Without a page, mails contain only the code.
    pub email_link_path: Option<String>,

    /// The page under `base_url` that the link of an invitation opens; it posts the fragment of the link. The hosted
    /// screens include one. Without a page, the mail contains the invitation itself.
    pub invitation_link_path: Option<String>,

    /// The page under `base_url` where people type the code that a device shows, such as `/device`: it runs a flow of
    /// the kind `confirm_device`. The hosted screens include one. Without a page, the device grant is not available.
    pub device_page_path: Option<String>,

    /// The page under `base_url` to which other OpenID providers send people back, such as `/ui/federation`: it posts the
    /// parameters of the answer to the flow. The hosted screens include one. Without a page, nobody signs in by a
    /// connection.
    pub federation_page_path: Option<String>,

    /// The resolvers that look up the records of organizations' domains, as `address:port`: at least two, which validate
    /// DNSSEC. Without this setting, those of the system (`/etc/resolv.conf`). With fewer than two, domains cannot be
    /// verified.
    pub dns_resolvers: Vec<SocketAddr>,

    /// Your own hosts that may be on a private network, as `host:port`: text message provider, webhooks. Addresses from
    /// client metadata never reach them.
    pub outbound_private_hosts: Vec<String>,

    /// With `--dev` only: private hosts that clients may use in their metadata, as `host:port`, over https: keys,
    /// request objects, back-channel logout. For testing a client on the same machine.
    pub outbound_client_hosts: Vec<String>,

    /// Directories on a private network, as `host:port`, to which any administrator of an organization can connect.
    pub outbound_organization_hosts: Vec<String>,

    /// A PEM file of additional certificate authorities to trust for `outbound_private_hosts`, `outbound_client_hosts`
    /// and `outbound_organization_hosts`.
    pub outbound_ca_file: Option<PathBuf>,

    /// Whether the hosted screens are served. Every flow works without them.
    pub screens: bool,

    /// A logo for the hosted screens instead of the default one: PNG, WebP or SVG, at most 64 KiB. `service_name` is
    /// shown beside it.
    pub brand_logo_file: Option<PathBuf>,

    /// The colour of buttons and links on light screens, such as `#1c5d57`. A colour with too little contrast is
    /// refused.
    pub brand_color: Option<String>,

    /// The same on dark screens, such as `#86cfc3`.
    pub brand_color_dark: Option<String>,

    /// Your own page, on the same site, that runs flows when the hosted screens are off: authorization requests are
    /// redirected to it with `flow=…`. Without it such requests are refused with `interaction_required`.
    pub interaction_url: Option<String>,

    /// Who may register an account.
    pub registration: Registration,

    /// The lowest assurance level at which anybody is signed in: `none`, `aal1` or `aal2` (NIST SP 800-63B-4). An
    /// organization may require more. People who cannot reach it yet are led to enrol what it takes, when they sign in, register
    /// or recover their account. With `aal2` nobody gets in with one factor.
    pub minimum_level: Level,

    /// The number of clients that may register from one address per hour; five times as many per day. `0`: only
    /// administrators create clients.
    pub client_registrations_per_hour: u32,

    /// Whether every signed-in person may create an organization and become its owner. Otherwise only the platform
    /// creates organizations.
    pub organizations_by_people: bool,

    /// The number of read requests per minute for one caller of the management API; five times as many for an
    /// organization.
    #[schemars(range(min = 1))]
    pub api_reads_per_minute: u32,

    /// The same for write requests.
    #[schemars(range(min = 1))]
    pub api_writes_per_minute: u32,

    /// The number of SCIM requests per minute for one organization, with all its keys and clients.
    #[schemars(range(min = 1))]
    pub scim_requests_per_minute: u32,

    /// Whether apps may run flows with a token instead of a browser's cookie. Off by default, because an app cannot yet
    /// prove its origin.
    pub api_flows: bool,

    /// The minimum duration of a password check in milliseconds, so that known and unknown accounts take the same time.
    pub password_floor_ms: u32,

    /// The same for sending a code by mail or text message.
    pub send_floor_ms: u32,

    /// The domain to which passkeys are bound; by default the host of `base_url`. Do not change it later: every
    /// existing passkey would stop working.
    pub passkey_domain: Option<String>,

    /// Additional web origins that may use the passkeys (WebAuthn related origins), such as `https://example.net`.
    pub passkey_origins: Vec<String>,

    /// Whether new passwords are checked against the public collection of breached passwords. Only five characters of a
    /// hash are sent, never the password.
    pub breached_password_check: bool,

    /// The address of that collection for range queries (`/range/` and five characters are appended).
    pub breached_password_url: String,

    /// The provider that sends text messages.
    pub sms_provider: SmsProviderName,

    /// The provider's address: for `twilio` its base URL, for `webhook` the complete URL.
    pub sms_url: Option<String>,

    /// The provider's account name (`twilio`: the account SID).
    pub sms_account: Option<String>,

    /// The provider's token.
    #[schemars(with = "Option<String>")]
    pub sms_secret: Option<Sensitive>,

    /// The sender's number or name in text messages.
    pub sms_from: Option<String>,

    /// Calling codes of the countries to which text messages may be sent, such as `+55` or `+351`; a longer code, such
    /// as `+1242`, selects a part of a numbering plan. Each message costs money, in some countries a lot. Required with
    /// `sms_provider` in production.
    pub sms_countries: Vec<String>,

    /// The maximum number of text messages per day, in total. Half of them are reserved for numbers that are already
    /// verified.
    pub sms_budget_per_day: u32,

    /// Whether a person may sign in by a code in a text message. It works for numbers that their owner adds for this,
    /// never for one that is a second factor. A text message alone reaches `aal1` and is easier to intercept than any other
    /// code.
    pub sms_sign_in: bool,

    /// Multiplies the limits on requests for approval: for one client and person 3 pending, 10 an hour and 30 a day; for one
    /// person 60 a day, and up to 90 with 3 for each client. Raise it for agents that ask often, and for conformance tests.
    #[schemars(range(min = 1, max = 1000))]
    pub approval_limit_factor: u32,

    /// A URL of your own to which every new request for approval is announced, so that your app can notify the person. The
    /// message has no details and is signed (Standard Webhooks).
    pub approval_webhook_url: Option<String>,

    /// The key of these signatures: `whsec_` and the base64 of 24 to 64 random bytes.
    #[schemars(with = "Option<String>")]
    pub approval_webhook_secret: Option<Sensitive>,

    /// Whether browsers may be told of requests for approval (Web Push), by empty messages to their vendors' push services.
    pub web_push: bool,

    /// Whether the server applies missing migrations when it starts. Leave it off in production and run `porteiro
    /// migrate` as a separate step of the roll-out.
    pub migrate_on_start: bool,

    /// How long a signing key is active before the next key replaces it.
    #[schemars(range(min = 1))]
    pub key_rotation_seconds: u32,

    /// How long a new signing key is published before it becomes active. It must be longer than clients cache the key
    /// set.
    #[schemars(range(min = 1))]
    pub key_publish_lead_seconds: u32,

    /// How long a replaced signing key stays published. It must be at least twice the lifetime of any token.
    #[schemars(range(min = 1))]
    pub key_verify_seconds: u32,

    /// How often a node reloads the signing keys.
    #[schemars(range(min = 1))]
    pub key_refresh_seconds: u32,

    /// The maximum duration of a request, from its headers to its response.
    #[schemars(range(min = 1))]
    pub request_timeout_seconds: u32,

    /// How long open requests and jobs may take to finish after SIGTERM.
    pub drain_timeout_seconds: u32,

    /// The maximum number of open connections of one node; further connections wait to be accepted.
    #[schemars(range(min = 1))]
    pub max_connections: usize,

    /// The maximum number of open connections of one node from one IPv4 address or IPv6 /64; further connections are
    /// closed immediately. Addresses in `trusted_proxies` are exempt; a proxy that is not listed there requires a
    /// larger number.
    #[schemars(range(min = 1))]
    pub max_connections_per_address: usize,

    /// The format of log lines: `json` for machines, `text` for people.
    pub log_format: LogFormat,

    /// The log filter, such as `info` or `info,porteiro_service::jobs=debug`.
    pub log_filter: String,

    /// The base URL of an OpenTelemetry collector for traces (OTLP over HTTP), such as `http://127.0.0.1:4318`. Without
    /// it no traces are exported.
    pub otlp_endpoint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// No one: administrators create accounts.
    Closed,
    /// People with an invitation.
    Invited,
    /// Everyone.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    Json,
    Text,
}

impl Settings {
    /// Whether a client's certificate can reach us at all.
    pub const fn takes_client_certificates(&self) -> bool {
        self.mtls_listen.is_some() || self.client_certificate_header.is_some()
    }
}
