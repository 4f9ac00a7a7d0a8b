//! Wildcard scopes narrow; four fields register a client that may refresh; 401s carry `resource_metadata`.
