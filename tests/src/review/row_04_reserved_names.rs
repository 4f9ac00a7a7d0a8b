//! No API takes the issuer's identifier or a reserved permission name.
