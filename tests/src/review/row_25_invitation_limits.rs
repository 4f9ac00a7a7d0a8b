//! One organization cannot exhaust another's invitations.
