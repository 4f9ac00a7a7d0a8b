//! Another organization's private client is treated as unknown.
