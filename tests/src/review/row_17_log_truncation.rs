//! Log partitions cannot be truncated, and every use of `organizations:administer` is recorded.
