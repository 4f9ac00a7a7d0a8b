//! Hosted screens from outside: forms in, pages out, on PostgreSQL.

mod asvs;
mod branding;
mod doors;
mod driver;
mod flows;
mod headers;
mod reach;
