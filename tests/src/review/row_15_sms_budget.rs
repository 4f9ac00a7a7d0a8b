//! Text messages have a budget and a country list; sub-addresses share one mailbox's limits.
