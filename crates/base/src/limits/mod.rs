//! Limits. Counters are in PostgreSQL and are written before the attempt is verified, in a statement of their own: they
//! survive a killed node and a rolled-back step, and parallel guesses cannot outrun them.
//!
//! Every rule is a bucket that refills steadily (a generic cell rate limiter): no account is ever locked out
//! permanently, and an attacker on one network cannot use up the bucket of another network or of a known device.

mod empty;
mod stock;
mod store;

use std::net::IpAddr;

pub use empty::Empty;
pub use stock::Stock;
pub use store::{Left, TAKE, refund, sweep, take, take_in, take_together, take_weighed};

use crate::jobs::{Host, JobKind};

/// The job that removes full buckets.
pub const fn sweeping<A: Host>() -> JobKind<A> {
    JobKind::<A>::new("limits.sweep", |app, _| {
        Box::pin(async move { Ok(sweep(&app.core().store).await.map(|_| ())?) })
    })
    .every(|_| 3_600)
}

/// A rule: so many at once, then one per interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    pub name: &'static str,
    pub burst: u32,
    pub interval_seconds: f64,
}

impl Rule {
    /// Whether it counts network addresses; the others count people, or the identifiers typed to reach them.
    pub fn counts_addresses(&self) -> bool {
        self.name.ends_with(".address")
    }

    /// Whether all callers share one bucket.
    pub fn is_shared_by_all(&self) -> bool {
        self.name.ends_with(".everybody")
    }
}

const fn rule(name: &'static str, burst: u32, interval_seconds: f64) -> Rule {
    Rule { name, burst, interval_seconds }
}

/// All rules; `docs/security/throttling.md` is generated from this table.
pub const RULES: &[Rule] = &[
    PASSWORD_SUBJECT,
    PASSWORD_KNOWN_DEVICE,
    PASSWORD_ADDRESS,
    CODE_SUBJECT,
    CODE_ADDRESS,
    TOTP_SUBJECT,
    TOTP_ADDRESS,
    RECOVERY_SUBJECT,
    RECOVERY_ADDRESS,
    PASSKEY_ADDRESS,
    FEDERATED_ADDRESS,
    UPSTREAM_LOGOUT,
    SSO_REJECTED,
    EMAIL_SUBJECT,
    EMAIL_SUBJECT_DAY,
    SMS_SUBJECT,
    SMS_SUBJECT_DAY,
    SMS_NEW_ALL,
    SMS_ALL,
    SEND_ADDRESS,
    FLOW_ADDRESS,
    STUFFING_SEEN,
    STUFFING_ADDRESS,
    STEP_ADDRESS,
    LIMIT_LOGGED,
    CLIENT_FAILURE,
    CLIENT_SECRET,
    SIGNATURE,
    SIGNATURE_CLIENT,
    PROOF,
    REGISTER,
    REGISTER_DAY,
    REGISTER_SITE,
    REGISTRATION_TOKEN,
    REGISTRATION_CHANGE,
    DOCUMENT_SUBJECT,
    DOCUMENT_ADDRESS,
    DOCUMENT_CLIENT,
    PUSH,
    PUSH_KIB,
    PUSH_CLIENT,
    PUSH_CLIENT_KIB,
    FLOW_KIB,
    DEVICE_REQUEST,
    DEVICE_CODE_ADDRESS,
    DEVICE_CODE_SUBJECT,
    DEVICE_CODE_ALL,
    REQUEST_OBJECT,
    REQUEST_OBJECT_CLIENT,
    INVITATION_ORGANIZATION,
    INVITATION_SHARE,
    INVITATION_RECIPIENT,
    API_READS,
    API_WRITES,
    API_PERSON_READS,
    API_PERSON_WRITES,
    API_ORGANIZATION_READS,
    API_ORGANIZATION_WRITES,
    SCIM_ORGANIZATION,
    SCIM_SCAN,
    AUDIT_EXPORT,
    ACCOUNT_EXPORT,
    RECOVERY_START,
    REFUSAL_SUBJECT,
    AUTHORIZATION_SUBJECT,
    EXCHANGE_SUBJECT,
    ASSERTION_SUBJECT,
    APPROVAL_ASK,
    APPROVAL_MAIL,
    DOMAIN_VERIFY,
];

pub const PASSWORD_SUBJECT: Rule = rule("password.subject", 10, 300.0);
pub const PASSWORD_KNOWN_DEVICE: Rule = rule("password.known_device", 10, 300.0);
pub const PASSWORD_ADDRESS: Rule = rule("password.address", 100, 36.0);
pub const CODE_SUBJECT: Rule = rule("code.subject", 15, 240.0);
pub const CODE_ADDRESS: Rule = rule("code.address", 100, 36.0);
pub const TOTP_SUBJECT: Rule = rule("totp.subject", 5, 60.0);
pub const TOTP_ADDRESS: Rule = rule("totp.address", 60, 60.0);
pub const RECOVERY_SUBJECT: Rule = rule("recovery_code.subject", 5, 720.0);
pub const RECOVERY_ADDRESS: Rule = rule("recovery_code.address", 30, 120.0);
pub const PASSKEY_ADDRESS: Rule = rule("passkey.address", 300, 12.0);
/// Answers of other providers: each is sent on to its provider.
pub const FEDERATED_ADDRESS: Rule = rule("federated.address", 60, 20.0);
/// Logout tokens of a connection's provider, from one network.
pub const UPSTREAM_LOGOUT: Rule = rule("upstream_logout.address", 600, 1.0);
/// Rejected sign-ins in the audit trail of one organization.
pub const SSO_REJECTED: Rule = rule("sso.rejected", 100, 60.0);
pub const EMAIL_SUBJECT: Rule = rule("email_send.subject", 5, 720.0);
pub const EMAIL_SUBJECT_DAY: Rule = rule("email_send.subject_day", 10, 8_640.0);
pub const SMS_SUBJECT: Rule = rule("sms_send.subject", 3, 1_200.0);
pub const SMS_SUBJECT_DAY: Rule = rule("sms_send.subject_day", 5, 17_280.0);
/// Text messages in total, and those that anybody can cause: to numbers that are not verified yet, and as the first step
/// of a sign-in (docs/decisions/0138). The setting `sms_budget_per_day` sets both (docs/decisions/0072).
pub const SMS_ALL: Rule = per_day("sms_send.everybody", 1_000);
pub const SMS_NEW_ALL: Rule = per_day("sms_send_new.everybody", 500);
pub const SEND_ADDRESS: Rule = rule("send.address", 30, 120.0);
pub const FLOW_ADDRESS: Rule = rule("flow_open.address", 600, 1.0);
/// Whether one network tried one account before; kept for a day.
pub const STUFFING_SEEN: Rule = rule("stuffing.seen", 1, 86_400.0);
/// For how many different accounts one network may fail before an alarm. It does not block.
pub const STUFFING_ADDRESS: Rule = rule("stuffing.address", 20, 180.0);

/// Steps that prove nothing, such as starting a ceremony.
pub const STEP_ADDRESS: Rule = rule("step.address", 600, 1.0);
/// How often an empty bucket is written to the log.
pub const LIMIT_LOGGED: Rule = rule("limit.logged", 1, 600.0);
/// Failed client authentications by network, whatever was presented.
pub const CLIENT_FAILURE: Rule = rule("client_failure.address", 120, 2.0);
/// The same by network and client, if the client exists.
pub const CLIENT_SECRET: Rule = rule("client_secret.address", 30, 10.0);
/// Signature verifications for unauthenticated callers, by network, and by network and client.
pub const SIGNATURE: Rule = rule("signature.address", 300, 0.5);
pub const SIGNATURE_CLIENT: Rule = rule("signature_client.address", 150, 1.0);
/// DPoP proofs by grant, of public and unverified clients; each is a row.
pub const PROOF: Rule = rule("proof.grant", 120, 1.0);
/// Clients that register themselves; the setting `client_registrations_per_hour` sets both.
pub const REGISTER: Rule = rule("register.address", 10, 360.0);
pub const REGISTER_DAY: Rule = rule("register_day.address", 50, 1_728.0);
/// The same from all networks of one site: an IPv6 /48 has 65,536 of them.
pub const REGISTER_SITE: Rule = rule("register_site.address", 250, 345.6);
/// Metadata documents of clients that are fetched, by account (or by the organization that names the client) and by
/// address: each is a request we send, and may be a row.
pub const DOCUMENT_SUBJECT: Rule = rule("client_document.subject", 20, 180.0);
pub const DOCUMENT_ADDRESS: Rule = rule("client_document.address", 60, 60.0);
/// The same for clients that ask without a browser, by client.
pub const DOCUMENT_CLIENT: Rule = rule("client_document.client", 1, 60.0);
/// Replacements of one registration; each is an entry in the log.
pub const REGISTRATION_CHANGE: Rule = rule("registration_change.client", 20, 720.0);
/// All requests with a registration access token, valid or not.
pub const REGISTRATION_TOKEN: Rule = rule("registration_token.address", 60, 10.0);
/// Requests pushed by public and by unverified clients, and their size in KiB; each is a row.
pub const PUSH: Rule = rule("push.address", 120, 5.0);
pub const PUSH_KIB: Rule = rule("push_kib.address", 512, 1.0);
/// The same by confidential client. Only the client itself can use this bucket up, because it has authenticated.
pub const PUSH_CLIENT: Rule = rule("push.client", 3_000, 0.02);
pub const PUSH_CLIENT_KIB: Rule = rule("push_kib.client", 16_384, 0.005);
/// Authorization requests of more than the usual size that flows store, in KiB.
pub const FLOW_KIB: Rule = rule("flow_kib.address", 1_024, 1.0);
/// Device authorization requests of public or unverified clients, by network; each is a row.
pub const DEVICE_REQUEST: Rule = rule("device_request.address", 60, 10.0);
/// User codes that people type, by network and by person; correct ones do not count.
pub const DEVICE_CODE_ADDRESS: Rule = rule("device_code.address", 30, 120.0);
pub const DEVICE_CODE_SUBJECT: Rule = rule("device_code.subject", 5, 720.0);
/// The same in total: what many accounts guess together (decision record 0064).
pub const DEVICE_CODE_ALL: Rule = rule("device_code.everybody", 500, 0.6);
/// Request objects that are fetched, by network, and by network and client: each is a request we send for a caller that
/// has not authenticated.
pub const REQUEST_OBJECT: Rule = rule("request_object.address", 60, 5.0);
pub const REQUEST_OBJECT_CLIENT: Rule = rule("request_object_client.address", 20, 10.0);

/// Invitations by one organization, by one organization to one mailbox, and to one mailbox by all organizations. Only
/// sent mails count. An organization's share of a mailbox is below the mailbox's limit, in number and in rate: none can
/// use it up for the others.
pub const INVITATION_ORGANIZATION: Rule = rule("invitation.organization", 100, 60.0);
pub const INVITATION_SHARE: Rule = rule("invitation_share.organization", 3, 28_800.0);
pub const INVITATION_RECIPIENT: Rule = rule("invitation.recipient", 10, 7_200.0);
/// Calls of the management API, by caller. The settings `api_reads_per_minute` and `api_writes_per_minute` set these and
/// the next four.
pub const API_READS: Rule = per_minute("api_reads.caller", 600);
pub const API_WRITES: Rule = per_minute("api_writes.caller", 120);
/// The same by member, with all keys and clients: twice the limit of one caller. Less than the organization's limit, so
/// that one member cannot use that up.
pub const API_PERSON_READS: Rule = per_minute("api_reads.person", PERSON_SHARE * 600);
pub const API_PERSON_WRITES: Rule = per_minute("api_writes.person", PERSON_SHARE * 120);
pub const PERSON_SHARE: u32 = 2;
/// The same by organization: five times the limit of one caller.
pub const API_ORGANIZATION_READS: Rule = per_minute("api_reads.organization", ORGANIZATION_SHARE * 600);
pub const API_ORGANIZATION_WRITES: Rule = per_minute("api_writes.organization", ORGANIZATION_SHARE * 120);
pub const ORGANIZATION_SHARE: u32 = 5;

const fn per_minute(name: &'static str, count: u32) -> Rule {
    rule(name, count, 60.0 / count as f64)
}

/// Half at once, the other half spread over the day: no period of 24 hours has more.
const fn per_day(name: &'static str, count: u32) -> Rule {
    let half = if count < 2 { 1 } else { count / 2 };
    rule(name, half, 86_400.0 / half as f64)
}

impl Rule {
    /// The same rule with another number per day.
    #[must_use]
    pub const fn with_per_day(self, count: u32) -> Self {
        per_day(self.name, count)
    }

    /// The same rule with another number of calls per minute.
    #[must_use]
    pub const fn with_per_minute(self, count: u32) -> Self {
        per_minute(self.name, if count == 0 { 1 } else { count })
    }
}

/// Requests of directories, by organization; the setting `scim_requests_per_minute` sets it. Entra ID sends 25 in a second.
pub const SCIM_ORGANIZATION: Rule = per_minute("scim.organization", 6_000);
/// Filters that no index answers: each reads all users or groups of the organization.
pub const SCIM_SCAN: Rule = per_minute("scim_scan.organization", 60);
/// Exports of an audit trail, by caller.
pub const AUDIT_EXPORT: Rule = rule("audit_export.caller", 10, 6.0);
/// Exports of what is stored about a person, by account: each reads all of it.
pub const ACCOUNT_EXPORT: Rule = rule("account_export.subject", 3, 3_600.0);
/// Recoveries that the platform starts, by account: each is a mail to all its addresses.
pub const RECOVERY_START: Rule = rule("recovery_start.subject", 3, 28_800.0);
/// Recorded refusals, by the caller that is refused. Beyond the limit a refusal has no reference.
pub const REFUSAL_SUBJECT: Rule = rule("refusal.subject", 30, 60.0);

/// Authorization requests of a signed-in person that are answered with a code at once, by account and client: people do
/// not notice them, and each is a grant (decision record 0067).
pub const AUTHORIZATION_SUBJECT: Rule = rule("authorization.subject", 300, 10.0);
/// Token exchanges by one client for one person: each is a grant.
pub const EXCHANGE_SUBJECT: Rule = rule("exchange.subject", 300, 0.2);
/// Assertions about one subject that one client redeems: each is a grant.
pub const ASSERTION_SUBJECT: Rule = rule("assertion.subject", 300, 0.2);
/// Verifications of domains by one organization: each asks several resolvers.
pub const DOMAIN_VERIFY: Rule = rule("domain_verify.organization", 10, 360.0);
/// Requests for approval by one client to one person, granted or not: each waits for the account's lock.
pub const APPROVAL_ASK: Rule = rule("approval_ask.subject", 60, 10.0);
/// Mails to one person that something waits for their decision. One that is too soon is sent later, if anything still waits.
pub const APPROVAL_MAIL: Rule = rule("approval_mail.subject", 1, 300.0);

/// One bucket of a rule: the key identifies what is counted.
#[derive(Debug, Clone)]
pub struct Bucket {
    pub rule: Rule,
    pub key: [u8; 32],
}

/// An empty bucket, and when the next attempt fits: the value of `Retry-After`.
#[derive(Debug, Clone)]
pub struct Limited {
    pub bucket: Bucket,
    pub seconds: u32,
}

impl Limited {
    /// From the time until the bucket is full again.
    pub fn new(bucket: &Bucket, until_full: f64) -> Self {
        let tolerance = bucket.rule.interval_seconds * f64::from(bucket.rule.burst.saturating_sub(1));
        let wait = (until_full - tolerance).ceil().clamp(1.0, 86_400.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a day")]
        let seconds = wait as u32;
        Self { bucket: bucket.clone(), seconds }
    }
}

/// The first bucket that had too little left.
pub fn first_empty(asked: &[(Bucket, u32)], left: &[Left]) -> Option<Limited> {
    let empty = asked.iter().zip(left).find(|(_, left)| !left.taken);
    empty.map(|((bucket, amount), left)| {
        // The time until the whole amount fits, not just one.
        let more = bucket.rule.interval_seconds * f64::from(amount.saturating_sub(1));
        Limited::new(bucket, left.seconds + more)
    })
}

/// The amount for a rule that counts KiB; one more for what is stored around the text.
pub fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX).saturating_add(1)
}

/// The network of a caller: an IPv4 address, or the IPv6 /64 of a household or server.
pub fn network(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets()[..8].to_vec(),
    }
}

/// The address block of one customer: an IPv4 address, or the /48 that a provider assigns.
pub fn site(address: IpAddr) -> Vec<u8> {
    match address.to_canonical() {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets()[..6].to_vec(),
    }
}
