//! The buckets an action takes from.

use porteiro_protocol::address::{EmailAddress, PhoneNumber};
use serde_json::Value;

use super::{actions::Action, store::Loaded};
use crate::{
    App,
    credentials::{email, hashing::Typed, password, sms},
    http::RequestContext,
    limits::{
        Bucket, PASSWORD_KNOWN_DEVICE, PASSWORD_SUBJECT, Rule, SMS_ALL, SMS_NEW_ALL, STEP_ADDRESS,
        STUFFING_ADDRESS, STUFFING_SEEN, network,
    },
    secrets::{HandleKind, Presented},
    sms as messages,
    store::StoreError,
};

pub fn buckets(
    app: &App,
    context: &RequestContext,
    loaded: &Loaded,
    action: Action,
    input: &Value,
) -> Vec<Bucket> {
    let subject = subject(app, loaded, action, input);
    let address = network(context.address);
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    // A known device has a bucket of its own, which an anonymous caller cannot use up.
    let spared = match known_device(app, context, &subject) {
        Typed::OnKnownDevice(_) => PASSWORD_SUBJECT,
        Typed::Anywhere => PASSWORD_KNOWN_DEVICE,
    };
    let rules = || action.limits().iter().copied().filter(|rule| *rule != spared);
    let by_address = rules().filter(Rule::counts_addresses).map(|rule| bucket(rule, &address));
    // Both the requester and the recipient are counted.
    let counted = mailbox(app, loaded, action, input).map_or(subject, Vec::from);
    let people = [Some(counted), recipient(app, action, input).map(Vec::from)];
    let by_person = people.iter().flatten().flat_map(|whom| {
        let of_people = rules().filter(|rule| !rule.counts_addresses() && !rule.is_shared_by_all());
        of_people.map(|rule| bucket(rule, whom))
    });
    // Last: a refused call takes nothing from the buckets that all share.
    let sends = would_send(app, loaded, action, input);
    let by_everybody = rules().filter(Rule::is_shared_by_all).filter(|_| sends);
    let by_everybody = by_everybody.map(|rule| bucket(with_budget(app, rule), b""));
    by_address.chain(by_person).chain(by_everybody).collect()
}

/// The number of text messages is bounded by the operator's budget.
fn with_budget(app: &App, rule: Rule) -> Rule {
    let budget = app.checked.settings.sms_budget_per_day;
    if rule == SMS_ALL {
        rule.with_per_day(budget)
    } else if rule == SMS_NEW_ALL {
        rule.with_per_day(budget / 2)
    } else {
        rule
    }
}

/// A number that gets no message does not use the budget. As the first step of a sign-in, the credential's module takes
/// from it: only there is it known whether somebody gets one.
fn would_send(app: &App, loaded: &Loaded, action: Action, input: &Value) -> bool {
    if action == sms::SEND && loaded.state.account().is_none() {
        return false;
    }
    action != sms::ADD_NUMBER
        || PhoneNumber::parse(input["number"].as_str().unwrap_or_default())
            .is_ok_and(|number| messages::is_allowed(&app.checked.settings.sms_countries, number.as_str()))
}

/// The mailbox that a mail to the typed address would reach, without its detail (`ana+shop@`).
fn mailbox(app: &App, loaded: &Loaded, action: Action, input: &Value) -> Option<[u8; 32]> {
    if action != email::SEND || loaded.state.account().is_some() {
        return None;
    }
    let typed = input["identifier"].as_str().or(loaded.state.typed.as_deref())?;
    let address = EmailAddress::parse(typed).ok()?;
    Some(app.secrets.identifier_key("email", address.without_detail().as_bytes()))
}

/// The owner of a new address or number is unknown, but messages to it are counted.
fn recipient(app: &App, action: Action, input: &Value) -> Option<[u8; 32]> {
    let (kind, value) = if action == email::ADD_ADDRESS {
        let to = EmailAddress::parse(input["address"].as_str().unwrap_or_default());
        ("email", to.map(|to| to.without_detail()).ok())
    } else if action == sms::ADD_NUMBER {
        let to = PhoneNumber::parse(input["number"].as_str().unwrap_or_default());
        ("phone", to.map(|to| to.as_str().to_owned()).ok())
    } else {
        return None;
    };
    Some(value.map(|value| app.secrets.identifier_key(kind, value.as_bytes())).unwrap_or_default())
}

/// Counts a wrong password for an account that this network had not tried today. Many such accounts suggest credential
/// stuffing. Returns whether the threshold was just reached.
pub async fn looks_like_stuffing(
    app: &App,
    context: &RequestContext,
    loaded: &Loaded,
    input: &Value,
) -> Result<bool, StoreError> {
    let (subject, address) = (subject(app, loaded, password::CHECK, input), network(context.address));
    let bucket = |rule: Rule, whom: &[u8]| Bucket { rule, key: app.secrets.limit_key(rule.name, whom) };
    let seen = bucket(STUFFING_SEEN, &[address.as_slice(), &subject].concat());
    if crate::limits::take(&app.store, &[seen]).await?.is_some() {
        return Ok(false);
    }
    Ok(crate::limits::take(&app.store, &[bucket(STUFFING_ADDRESS, &address)]).await?.is_some())
}

/// The buckets to refund after success: attempts, but not messages sent.
pub fn refundable(buckets: &[Bucket]) -> Vec<Bucket> {
    let guess = |bucket: &&Bucket| !bucket.rule.name.contains("send") && bucket.rule != STEP_ADDRESS;
    buckets.iter().filter(guess).cloned().collect()
}

/// The account, or else a key of what was typed: both are limited in the same way. Spelling, case and normal form make
/// no new subject (CVE-2025-24806).
fn subject(app: &App, loaded: &Loaded, action: Action, input: &Value) -> Vec<u8> {
    // The request names the subject only in actions with an identifier.
    let named = action.names_account().then(|| input["identifier"].as_str()).flatten();
    let typed = named.or(loaded.state.typed.as_deref());
    let canonical =
        typed.and_then(|typed| EmailAddress::parse(typed).ok()).map(|address| address.canonical().to_owned());
    match (loaded.state.account(), canonical) {
        (Some(account), _) => account.uuid().as_bytes().to_vec(),
        (None, Some(address)) => app.secrets.identifier_key("email", address.as_bytes()).to_vec(),
        (None, None) => loaded.id.uuid().as_bytes().to_vec(),
    }
}

/// Whether the request comes from a known device of the subject.
pub fn typed(app: &App, context: &RequestContext, loaded: &Loaded, action: Action, input: &Value) -> Typed {
    known_device(app, context, &subject(app, loaded, action, input))
}

/// The device cookie contains, sealed, the identifier with which its owner signed in.
fn known_device(app: &App, context: &RequestContext, subject: &[u8]) -> Typed {
    let device =
        context.device.as_deref().and_then(|text| app.secrets.handles.open(HandleKind::Device, text));
    let theirs = |device: &Presented| {
        subject.len() >= 16
            && (subject[..16] == *device.route.row.as_bytes() || subject == device.route.owner.as_bytes())
    };
    match device.filter(theirs) {
        Some(device) => Typed::OnKnownDevice(device.route.owner.into()),
        None => Typed::Anywhere,
    }
}
