//! Retry-After, sign-out, denied flows, languages, names, OpenAPI, passkeys first.
