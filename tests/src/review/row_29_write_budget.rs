//! A member's keys cannot use up the organization's write budget.
