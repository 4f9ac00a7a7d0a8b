//! Draws the page of a flow.

use askama::Template;
use axum::{http::StatusCode, response::Response};

use super::{
    qr, read,
    representation::Flow,
    view::{Typed, View},
    ways::Way,
};
use crate::{
    Screens,
    call::Reply,
    doors::{Ended, Next, leave, problem},
    look,
    page::{self, Policy, Shell, Wrong},
    visit::Visit,
};

macro_rules! pages {
    ($($name:ident = $path:literal),+ $(,)?) => {$(
        #[derive(Template)]
        #[template(path = $path)]
        struct $name<'a> {
            s: &'a Shell,
            v: &'a View,
        }
    )+};
}

pages! {
    Identify = "flow/identify.html",
    Password = "flow/password.html",
    Code = "flow/code.html",
    Passkey = "flow/passkey.html",
    Send = "flow/send.html",
    Hold = "flow/hold.html",
    Profile = "flow/profile.html",
    Offer = "flow/offer.html",
    PasswordSet = "flow/password_set.html",
    Totp = "flow/totp.html",
    RecoveryCodes = "flow/recovery_codes.html",
    Codes = "flow/codes.html",
    AddAddress = "flow/add_address.html",
    AddNumber = "flow/add_number.html",
    Identity = "flow/identity.html",
    Connection = "flow/connection.html",
    Confirm = "flow/confirm.html",
    Choose = "flow/organization.html",
    Claim = "flow/claim.html",
    Device = "flow/device.html",
    Consent = "flow/consent.html",
}

#[derive(Template)]
#[template(path = "flow/link.html")]
struct Link<'a> {
    s: &'a Shell,
}

pub fn link(screens: &Screens, visit: &Visit) -> Response {
    let shell = visit.shell(screens);
    let title = shell.t("link-title");
    let shell = shell.titled(title);
    page::send(screens, &shell, Policy::Flow, StatusCode::OK, &Link { s: &shell })
}

/// The pages of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Panel {
    Identify,
    Password,
    Code,
    Passkey,
    Send,
    Hold,
    Profile,
    Offer,
    PasswordSet,
    Totp,
    RecoveryCodes,
    AddAddress,
    AddNumber,
    Identity,
    Connection,
    Confirm,
    Choose,
    Claim,
    Device,
    Consent,
}

pub fn flow(
    screens: &Screens,
    visit: &Visit,
    reply: &Reply,
    typed: Typed,
    wrong: Option<Wrong>,
    after_form: bool,
) -> Response {
    let Some(flow) = read(&reply.body) else {
        return problem(
            screens,
            visit.language,
            "/ui/account",
            StatusCode::BAD_GATEWAY,
            &Ended::code("internal"),
        );
    };
    let status = match &wrong {
        Some(_) if reply.status.is_success() => StatusCode::UNPROCESSABLE_ENTITY,
        Some(_) | None => reply.status,
    };
    // To another provider, which sends the person back.
    if let Some(uri) = flow.challenge["redirect_to"].as_str() {
        let next = Next::Redirect { uri: uri.to_owned() };
        return page::with_cookies(leave(screens, visit.language, &next, None, after_form), &reply.cookies);
    }
    let response = match flow.stage.as_str() {
        "complete" if !flow.codes().is_empty() => {
            let view = view(screens, flow, typed, Vec::new(), None);
            let shell = visit.shell(screens);
            let title = shell.t("codes-title");
            let shell = shell.titled(title);
            page::send(screens, &shell, Policy::Flow, status, &Codes { s: &shell, v: &view })
        }
        "complete" => over(screens, visit, &flow, &typed, after_form),
        "denied" | "cancelled" => denied(screens, visit, &flow, &typed, after_form),
        _ => ask(screens, visit, flow, typed, wrong, status),
    };
    page::with_cookies(response, &reply.cookies)
}

/// Completed: back to the client, or to the page that opened the flow.
fn over(screens: &Screens, visit: &Visit, flow: &Flow, typed: &Typed, after_form: bool) -> Response {
    match Next::parse(&flow.next) {
        Some(Next::Nowhere) | None if typed.back.is_empty() => page::see_other("/ui/account"),
        Some(Next::Nowhere) | None => page::see_other(&format!("/ui/account/{}", typed.back)),
        Some(next) => leave(screens, visit.language, &next, typed.app(), after_form),
    }
}

/// Refused: the client receives the error if there is one, otherwise the person sees the reason.
fn denied(screens: &Screens, visit: &Visit, flow: &Flow, typed: &Typed, after_form: bool) -> Response {
    match Next::parse(&flow.next) {
        Some(next @ (Next::Redirect { .. } | Next::FormPost { .. } | Next::Device(_))) => {
            return leave(screens, visit.language, &next, typed.app(), after_form);
        }
        Some(Next::NoOrganization) => {
            let ended = Ended::code("no_organization").again("/ui/sign-in");
            return problem(screens, visit.language, "/ui/account", StatusCode::OK, &ended);
        }
        Some(Next::Organization { .. } | Next::Nowhere) | None => {}
    }
    let ended = match flow.reason.as_deref() {
        Some("no_account") => Ended::code("no_account").again("/ui/sign-in"),
        Some("account_unavailable") => Ended::code("account_unavailable"),
        Some("unmet_authentication_requirements") => {
            Ended::code("unmet_authentication_requirements").again("/ui/recover")
        }
        Some("recovery_held") => Ended::code("recovery_held"),
        Some("session_ended") => Ended::code("session_ended").again("/ui/sign-in"),
        Some("request_refused") => Ended::code("request_refused"),
        Some(_) | None => Ended::code("cancelled").again("/ui/sign-in"),
    };
    problem(screens, visit.language, "/ui/account", StatusCode::OK, &ended)
}

fn view(screens: &Screens, flow: Flow, typed: Typed, others: Vec<Way>, way: Option<Way>) -> View {
    let (registration, text_sign_in) = (screens.deployment.registration, screens.deployment.text_sign_in);
    View { flow, typed, way, others, qr: None, registration, text_sign_in }
}

fn ask(
    screens: &Screens,
    visit: &Visit,
    flow: Flow,
    typed: Typed,
    wrong: Option<Wrong>,
    status: StatusCode,
) -> Response {
    let ways = Way::offered(&flow);
    let panel = panel(&flow, &ways, typed.way, typed.app_code);
    let way = shown(&ways, typed.way);
    // A person who is not known yet chooses on the first page; otherwise there are links to the other methods.
    let others = match flow.stage.as_str() {
        "raise" | "challenge" if flow.known() => {
            ways.iter().copied().filter(|one| Some(*one) != way).collect()
        }
        _ => Vec::new(),
    };
    let mut shell = visit.shell(screens);
    shell.problem = wrong;
    shell.look = flow.branding.as_ref().and_then(look::path);
    let title = title(&shell, &flow, panel, way);
    let shell = shell.titled(title);
    let mut view = view(screens, flow, typed, others, way);
    if let Some(uri) = view.flow.challenge["uri"].as_str() {
        view.qr = qr::svg(uri, &shell.t("totp-qr"));
    }
    let (s, v) = (&shell, &view);
    macro_rules! send {
        ($($panel:ident),+) => {
            match panel {
                $(Panel::$panel => page::send(screens, s, Policy::Flow, status, &$panel { s, v }),)+
            }
        };
    }
    send!(
        Identify,
        Password,
        Code,
        Passkey,
        Send,
        Hold,
        Profile,
        Offer,
        PasswordSet,
        Totp,
        RecoveryCodes,
        AddAddress,
        AddNumber,
        Identity,
        Connection,
        Confirm,
        Choose,
        Claim,
        Device,
        Consent
    )
}

fn shown(ways: &[Way], wished: Option<Way>) -> Option<Way> {
    wished.filter(|wished| ways.contains(wished)).or_else(|| ways.first().copied())
}

fn panel(flow: &Flow, ways: &[Way], wished: Option<Way>, app_code: bool) -> Panel {
    match flow.stage.as_str() {
        "authenticate" | "raise" if asks_for_connection(flow) => Panel::Connection,
        "authenticate" if wished == Some(Way::Password) && flow.offers("password/check") => Panel::Password,
        "authenticate" if wished == Some(Way::SendText) && flow.offers("sms_code/send") => Panel::Send,
        "authenticate" => Panel::Identify,
        "profile" => Panel::Profile,
        "confirm" => Panel::Confirm,
        "organization" => Panel::Choose,
        "claim" => Panel::Claim,
        "device" => Panel::Device,
        "consent" => Panel::Consent,
        "enrol" => enrol(flow, app_code),
        // `challenge` and `raise`.
        _ => match shown(ways, wished) {
            Some(Way::MailCode | Way::TextCode | Way::Totp | Way::RecoveryCode) => Panel::Code,
            Some(Way::Password) => Panel::Password,
            Some(Way::SendText | Way::SendMail) => Panel::Send,
            Some(Way::Hold) => Panel::Hold,
            Some(Way::Passkey) | None => Panel::Passkey,
        },
    }
}

/// A connection is asked for, and nothing that needs an address.
fn asks_for_connection(flow: &Flow) -> bool {
    flow.offers("federated/begin") && !flow.offers("email_code/send") && !flow.offers("password/check")
}

fn enrol(flow: &Flow, app_code: bool) -> Panel {
    // If there is a choice it is offered, until the person sets up an authenticator app.
    if flow.offers("passkey/enrol_begin") && flow.secret().is_none() && !app_code {
        return Panel::Offer;
    }
    let pages = [
        ("totp/enrol_begin", Panel::Totp),
        ("recovery_code/generate", Panel::RecoveryCodes),
        ("email/add", Panel::AddAddress),
        ("phone/add", Panel::AddNumber),
        ("federated/enrol_begin", Panel::Identity),
        ("passkey/enrol_begin", Panel::Offer),
        ("password/set", Panel::PasswordSet),
    ];
    pages.into_iter().find(|(action, _)| flow.offers(action)).map_or(Panel::Offer, |(_, panel)| panel)
}

fn title(shell: &Shell, flow: &Flow, panel: Panel, way: Option<Way>) -> String {
    match panel {
        Panel::Identify => shell.t(match flow.kind.as_str() {
            "register" => "register-title",
            "recover" => "recover-title",
            _ => "sign-in-title",
        }),
        Panel::Password => shell.t("password-title"),
        Panel::Code => shell.t(match way {
            Some(Way::Totp) => "totp-title",
            Some(Way::RecoveryCode) => "recovery-code-title",
            Some(Way::TextCode) => "text-code-title",
            Some(_) | None => "mail-code-title",
        }),
        Panel::Send if !flow.known() => shell.t(match way {
            Some(Way::SendText) => "text-sign-in-title",
            Some(_) | None => "sign-in-title",
        }),
        Panel::Passkey | Panel::Send => shell.t("raise-title"),
        Panel::Hold => shell.t("hold-title"),
        Panel::Profile => shell.t("profile-title"),
        Panel::Offer => shell.t(match flow.kind.as_str() {
            _ if flow.is_demanded() => "offer-demanded-title",
            "recover" => "offer-recover-title",
            _ => "offer-title",
        }),
        Panel::PasswordSet => shell.t("password-set-title"),
        Panel::Totp => shell.t("totp-enrol-title"),
        Panel::RecoveryCodes => shell.t("recovery-codes-title"),
        Panel::AddAddress => shell.t("add-address-title"),
        Panel::AddNumber => shell.t("add-number-title"),
        Panel::Identity => shell.t("identity-title"),
        Panel::Connection => shell.t("connection-title"),
        Panel::Confirm => shell.t("confirm-title"),
        Panel::Choose => shell.t("organization-title"),
        Panel::Claim if flow.offers("claim/attach") => shell.t("claim-attach-title"),
        Panel::Claim => shell.t("claim-title"),
        Panel::Device => shell.t("device-title"),
        Panel::Consent => match flow.request.as_ref() {
            Some(asked) if asked.device.is_some() => {
                shell.t1("device-consent-title", "app", flow.app().unwrap_or_default())
            }
            Some(asked) if asked.is_unverified() => shell.t("consent-stranger-title"),
            _ => shell.t1("consent-title", "app", flow.app().unwrap_or_default()),
        },
    }
}
