//! The standards as pure code: no runtime, no HTTP, no SQL.
//!
//! This crate defines what messages mean; the `decide.rs` files of the service define what this server does with
//! them, given its records. Time and entropy are arguments everywhere.

pub mod access_token;
pub mod actor;
pub mod address;
pub mod api_key;
pub mod assurance;
pub mod authority;
pub mod authorization_details;
pub mod authorization_request;
pub mod certificate;
pub mod client_metadata;
pub mod dpop;
pub mod entropy;
pub mod error;
pub mod form;
pub mod id;
pub mod id_jag;
pub mod jose;
pub mod json;
pub mod merge_patch;
pub mod metadata;
pub mod one_time_code;
pub mod password;
pub mod permission;
pub mod picture;
pub mod pkce;
pub mod plain_text;
pub mod recovery_code;
pub mod redirect_uri;
pub mod relying_party;
pub mod scim;
pub mod scope;
pub mod secret;
pub mod time;
pub mod totp;
pub mod user_code;
