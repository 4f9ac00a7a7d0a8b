//! The modules of the OpenID conformance suite's plans (5.2), in order. `certification/modules.csv` describes what they
//! check and which test of ours does the same.

/// A plan, with the name of its file in `certification/`.
#[derive(Debug)]
pub struct Plan {
    pub key: &'static str,
    /// The suite's name.
    pub name: &'static str,
    /// The name for readers.
    pub title: &'static str,
    /// The prefix of all module names below.
    pub prefix: &'static str,
    pub parts: &'static [&'static [&'static str]],
}

impl Plan {
    pub fn modules(&self) -> impl Iterator<Item = String> {
        self.parts.iter().flat_map(|part| part.iter()).map(|name| format!("{}{name}", self.prefix))
    }

    pub fn has(&self, module: &str) -> bool {
        self.modules().any(|name| name == module)
    }
}

/// Plans that share modules share a table in the document.
pub const GROUPS: &[&[Plan]] = &[
    &[Plan {
        key: "config",
        name: "oidcc-config-certification-test-plan",
        title: "Config OP",
        prefix: "oidcc-",
        parts: &[&["discovery-endpoint-verification"]],
    }],
    &[
        Plan {
            key: "basic",
            name: "oidcc-basic-certification-test-plan",
            title: "Basic OP",
            prefix: "oidcc-",
            parts: &[BASIC],
        },
        Plan {
            key: "formpost",
            name: "oidcc-formpost-basic-certification-test-plan",
            title: "Form Post OP (Basic)",
            prefix: "oidcc-",
            parts: &[BASIC],
        },
    ],
    &[Plan {
        key: "dynamic",
        name: "oidcc-dynamic-certification-test-plan",
        title: "Dynamic OP",
        prefix: "oidcc-",
        parts: &[DYNAMIC],
    }],
    &[Plan {
        key: "rp-logout",
        name: "oidcc-rp-initiated-logout-certification-test-plan",
        title: "RP-Initiated Logout OP",
        prefix: "oidcc-rp-initiated-logout",
        parts: &[RP_LOGOUT],
    }],
    &[Plan {
        key: "backchannel-logout",
        name: "oidcc-backchannel-rp-initiated-logout-certification-test-plan",
        title: "Back-Channel Logout OP",
        prefix: "oidcc-backchannel-",
        parts: &[BACKCHANNEL],
    }],
    &[
        Plan {
            key: "fapi2-mtls",
            name: "fapi2-security-profile-final-test-plan",
            title: "FAPI 2.0 Security Profile, certificates",
            prefix: FAPI2,
            parts: &[FAPI2_ALWAYS],
        },
        Plan {
            key: "fapi2-dpop",
            name: "fapi2-security-profile-final-test-plan",
            title: "FAPI 2.0 Security Profile, DPoP",
            prefix: FAPI2,
            parts: &[FAPI2_ALWAYS, FAPI2_DPOP],
        },
        Plan {
            key: "message-signing",
            name: "fapi2-message-signing-final-test-plan",
            title: "FAPI 2.0 Message Signing: signed requests, JARM",
            prefix: FAPI2,
            parts: &[FAPI2_ALWAYS, FAPI2_SIGNED],
        },
    ],
    &[
        Plan {
            key: "fapi-ciba-poll",
            name: CIBA_PLAN,
            title: "FAPI-CIBA, poll, private_key_jwt",
            prefix: CIBA,
            parts: &[CIBA_ALWAYS, CIBA_ASSERTION],
        },
        Plan {
            key: "fapi-ciba-ping",
            name: CIBA_PLAN,
            title: "FAPI-CIBA, ping, private_key_jwt",
            prefix: CIBA,
            parts: &[CIBA_ALWAYS, CIBA_ASSERTION, CIBA_PING],
        },
        Plan {
            key: "fapi-ciba-poll-mtls",
            name: CIBA_PLAN,
            title: "FAPI-CIBA, poll, certificates",
            prefix: CIBA,
            parts: &[CIBA_ALWAYS, CIBA_CERTIFICATE],
        },
        Plan {
            key: "fapi-ciba-ping-mtls",
            name: CIBA_PLAN,
            title: "FAPI-CIBA, ping, certificates",
            prefix: CIBA,
            parts: &[CIBA_ALWAYS, CIBA_CERTIFICATE, CIBA_PING],
        },
    ],
];

pub fn find(key: &str) -> Option<&'static Plan> {
    GROUPS.iter().flat_map(|group| group.iter()).find(|plan| plan.key == key)
}

const FAPI2: &str = "fapi2-security-profile-final-";
const CIBA_PLAN: &str = "fapi-ciba-id1-test-plan";
const CIBA: &str = "fapi-ciba-id1";

/// 38 modules, of which three need clients that register themselves.
const BASIC: &[&str] = &[
    "server",
    "response-type-missing",
    "idtoken-signature",
    "idtoken-unsigned",
    "userinfo-get",
    "userinfo-post-header",
    "userinfo-post-body",
    "ensure-request-without-nonce-succeeds-for-code-flow",
    "scope-profile",
    "scope-email",
    "scope-address",
    "scope-phone",
    "scope-all",
    "alternate-happy-flow",
    "display-page",
    "display-popup",
    "prompt-login",
    "prompt-none-not-logged-in",
    "prompt-none-logged-in",
    "max-age-1",
    "max-age-10000",
    "ensure-request-with-unknown-parameter-succeeds",
    "id-token-hint",
    "login-hint",
    "ui-locales",
    "claims-locales",
    "ensure-request-with-acr-values-succeeds",
    "codereuse",
    "codereuse-30seconds",
    "ensure-registered-redirect-uri",
    "ensure-post-request-succeeds",
    "server-client-secret-post",
    "request-uri-unsigned-supported-correctly-or-rejected-as-unsupported",
    "unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
    "claims-essential",
    "ensure-request-object-with-redirect-uri",
    "refresh-token",
    "ensure-request-with-valid-pkce-succeeds",
];

/// 23 modules, with `response_type` `code`.
const DYNAMIC: &[&str] = &[
    "idtoken-rs256",
    "idtoken-unsigned",
    "userinfo-rs256",
    "ensure-redirect-uri-in-authorization-request",
    "redirect-uri-query-OK",
    "redirect-uri-query-mismatch",
    "redirect-uri-query-added",
    "redirect-uri-regfrag",
    "discovery-endpoint-verification",
    "server",
    "registration-logo-uri",
    "registration-policy-uri",
    "registration-tos-uri",
    "registration-jwks-uri",
    "registration-sector-uri",
    "registration-sector-bad",
    "server-rotate-keys",
    "refresh-token-rp-key-rotation",
    "request-uri-unsigned",
    "request-uri-signed-rs256",
    "ensure-request-object-with-redirect-uri",
    "refresh-token",
    "ensure-client-assertion-with-iss-aud-succeeds",
];

/// Eleven modules; the module of the plain sign-out is the prefix alone.
const RP_LOGOUT: &[&str] = &[
    "-discovery-endpoint-verification",
    "",
    "-bad-post-logout-redirect-uri",
    "-modified-id-token-hint",
    "-no-id-token-hint",
    "-no-params",
    "-no-post-logout-redirect-uri",
    "-no-state",
    "-only-state",
    "-query-added-to-post-logout-redirect-uri",
    "-bad-id-token-hint",
];

/// Two modules.
const BACKCHANNEL: &[&str] = &["logout-discovery-endpoint-verification", "rp-initiated-logout"];

/// In each of the three plans: OpenID Connect, `private_key_jwt`, `plain_fapi`.
const FAPI2_ALWAYS: &[&str] = &[
    "discovery-end-point-verification",
    "happy-flow",
    "user-rejects-authentication",
    "ensure-authorization-request-without-state-success",
    "ensure-authorization-request-without-nonce-success",
    "ensure-authorization-request-with-64-char-nonce-success",
    "ensure-other-scope-order-succeeds",
    "test-claims-parameter-identity-claims",
    "access-token-type-header-case-sensitivity",
    "ensure-different-nonce-inside-and-outside-request-object",
    "ensure-different-state-inside-and-outside-request-object",
    "ensure-authorization-request-with-long-nonce",
    "ensure-authorization-request-with-long-state",
    "state-only-outside-request-object-not-used",
    "ensure-request-object-without-redirect-uri-fails",
    "plain-fapi-tolerate-unregistered-redirect-uri",
    "ensure-unsigned-authorization-request-without-using-par-fails",
    "ensure-redirect-uri-in-authorization-request",
    "ensure-response-type-code-idtoken-fails",
    "ensure-response-type-token-fails",
    "ensure-client-id-in-token-endpoint",
    "ensure-holder-of-key-required",
    "ensure-authorization-code-is-bound-to-client",
    "attempt-reuse-authorization-code-after-one-second",
    "ensure-token-endpoint-fails-with-expired-auth-code",
    "ensure-signed-client-assertion-with-RS256-fails",
    "ensure-client-assertion-in-token-endpoint",
    "ensure-client-assertion-with-exp-is-5-minutes-in-past-fails",
    "ensure-client-assertion-with-wrong-aud-fails",
    "ensure-client-assertion-with-no-sub-fails",
    "refresh-token",
    "par-ensure-reused-request-uri-prior-to-auth-completion-succeeds",
    "par-attempt-reuse-request_uri",
    "par-attempt-to-use-expired-request_uri",
    "par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted",
    "par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails",
    "par-attempt-to-use-request_uri-for-different-client",
    "par-authorization-request-containing-request_uri-form-param",
    "par-attempt-invalid-http-method",
    "par-ensure-pkce-required",
    "ensure-pkce-code-verifier-required",
    "incorrect-pkce-code-verifier-rejected",
    "par-plain-pkce-rejected",
    "par-without-duplicate-parameters",
    "par-test-array-as-audience-fails",
    "par-test-par-endpoint-url-as-audience-fails",
    "par-test-token-endpoint-url-as-audience-fails",
];

/// For tokens bound by DPoP.
const FAPI2_DPOP: &[&str] = &[
    "check-dpop-proof-nbf-exp",
    "ensure-dpopproof-with-iat-10seconds-before-succeeds",
    "ensure-dpopproof-with-iat-10seconds-after-succeeds",
    "ensure-mismatched-dpop-jkt-fails",
    "ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt",
    "ensure-token-endpoint-fails-with-mismatched-dpop-jkt",
    "ensure-dpopproof-at-par-endpoint-binding-success",
    "ensure-dpop-auth-code-binding-success",
    "dpop-negative-tests",
];

/// For signed requests.
const FAPI2_SIGNED: &[&str] = &[
    "ensure-request-object-with-multiple-aud-succeeds",
    "ensure-request-object-with-nbf-8-seconds-in-the-future-is-accepted",
    "ensure-request-object-without-exp-fails",
    "ensure-request-object-without-nbf-fails",
    "ensure-expired-request-object-fails",
    "ensure-request-object-with-bad-aud-fails",
    "ensure-request-object-with-exp-over-60-fails",
    "ensure-request-object-with-nbf-over-60-fails",
    "ensure-signed-request-object-with-RS256-fails",
    "ensure-request-object-signature-algorithm-is-not-none",
    "ensure-request-object-with-invalid-signature-fails",
    "ensure-matching-key-in-authorization-request",
    "ensure-unsigned-request-at-par-endpoint-fails",
    "par-authorization-request-containing-request_uri",
];

/// In each FAPI-CIBA plan (`plain_fapi`); the module of the plain flow is the prefix alone.
const CIBA_ALWAYS: &[&str] = &[
    "-discovery-end-point-verification",
    "",
    "-user-rejects-authentication",
    "-multiple-call-to-token-endpoint",
    "-auth-req-id-expired",
    "-ensure-authorization-request-with-binding-message-succeeds",
    "-ensure-other-scope-order-succeeds",
    "-ensure-requested-expiry-as-string-succeeds",
    "-ensure-authorization-request-with-potentially-bad-binding-message",
    "-ensure-request-object-missing-aud-fails",
    "-ensure-request-object-bad-aud-fails",
    "-ensure-request-object-missing-iss-fails",
    "-ensure-request-object-bad-iss-fails",
    "-ensure-request-object-missing-exp-fails",
    "-ensure-request-object-expired-exp-fails",
    "-ensure-request-object-exp-is-70-minutes-in-future-fails",
    "-ensure-request-object-missing-iat-fails",
    "-ensure-request-object-missing-nbf-fails",
    "-ensure-request-object-nbf-is-10-minutes-in-future-fails",
    "-ensure-request-object-nbf-is-70-minutes-in-past-fails",
    "-ensure-request-object-missing-jti-fails",
    "-ensure-request-object-signature-algorithm-is-none-fails",
    "-ensure-request-object-signature-algorithm-is-bad-fails",
    "-ensure-request-object-signature-algorithm-is-RS256-fails",
    "-ensure-request-object-signed-by-other-client-fails",
    "-ensure-authorization-request-with-multiple-hints-fails",
    "-ensure-wrong-auth-req-id-in-token-endpoint-request",
    "-ensure-unsigned-backchannel-authorization-request-fails",
    "-refresh-token",
    "-ensure-mtls-holder-of-key-required",
];

/// With `private_key_jwt`.
const CIBA_ASSERTION: &[&str] = &[
    "-ensure-without-client-assertion-in-token-endpoint-request",
    "-ensure-without-client-assertion-in-backchannel-authorization-request",
    "-ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails",
    "-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails",
    "-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds",
];

/// With certificates.
const CIBA_CERTIFICATE: &[&str] = &[
    "-ensure-different-client-id-and-issuer-in-backchannel-authorization-request",
    "-ensure-wrong-client-id-in-token-endpoint-request",
    "-ensure-wrong-client-id-in-backchannel-authorization-request",
];

/// With notifications.
const CIBA_PING: &[&str] = &[
    "-ping-backchannel-notification-endpoint-response-has-body",
    "-ping-backchannel-notification-endpoint-response-401",
    "-ping-backchannel-notification-endpoint-response-403",
    "-ping-with-mtls-ciba-notification-endpoint-response-401-and-require-server-does-not-retry",
    "-ping-backchannel-notification-endpoint-return-redirect-request",
];
